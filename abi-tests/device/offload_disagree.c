// what: parts of a program that disagree about `requires` end it
// compilers: clang>=19
// expect-exit: 1
// expect-stderr: gangway: the parts of this program disagree about `requires reverse_offload`, which all with target constructs have to say or none; the program stops
// expect-stderr-lines: 1
// offload: yes
// devices: 0,1
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
void __tgt_register_requires(long flags);
int main(void)
{
    __tgt_register_requires(1);      // what older compilers' constructors say of a part without clauses
    __tgt_register_requires(1 | 16); // dynamic_allocators
    __tgt_register_requires(2);
    return 0;
}
