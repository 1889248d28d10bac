//! try
use benchmarks::model::{self, Config, Factorization};
fn main() {
    for what in Factorization::ALL { for messages in [1.0, 0.0] { for gangs in [false, true] { for threads in [1, 5] {
        if what == Factorization::Cholesky && (gangs || threads > 1) || threads == 1 && gangs { continue }
        for policy in [ult::victim::Kind::History, ult::victim::Kind::Random, ult::victim::Kind::Hybrid] {
            let mut v = Vec::new();
            let mut last = None;
            for seed in 1..=5 { let o = model::run(&Config { policy, gangs, messages, panel_threads: threads, seed, ..Config::new(what) }); v.push(o.time); last = Some(o); }
            v.sort();
            let o = last.unwrap();
            println!("{what:?} msg {messages} gangs {gangs} thr {threads} {policy:?}: {:?} ms path {:?} shares {:?} overlap {:.2} {:?}", v.iter().map(|t| t/1000000).collect::<Vec<_>>(), o.path, o.shares.map(|s| s/1000000), o.overlap, o.steals);
        }
    }}}}
}
