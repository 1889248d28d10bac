/** A virtual machine, with handlers for signals and threads of its own, calls a library that uses OpenMP, from several threads. */
public class Host {
    static native int run();

    public static void main(String[] words) throws Exception {
        System.load(words[1]);
        int[] right = new int[4];
        Thread[] threads = new Thread[4];
        for (int t = 0; t < 4; t++) {
            int me = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 20; i++) {
                    right[me] += run();
                    byte[][] garbage = new byte[64][];
                    for (int j = 0; j < 64; j++) garbage[j] = new byte[1 << 16];
                }
            });
            threads[t].start();
        }
        int sum = 0;
        for (int t = 0; t < 4; t++) {
            threads[t].join();
            sum += right[t];
        }
        String nothing = null;
        try {
            nothing.length();
        } catch (NullPointerException e) {
            sum++;
        }
        System.out.println(sum == 81 ? "right" : "wrong");
        System.exit(sum == 81 ? 0 : 1);
    }
}
