// what: C++: this, lambdas, references, templates, and a static object constructed in the image
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: host devices
#include "device.h"
#include <vector>
#pragma omp declare target
struct Made {
    int v;
    Made() : v(77) {}
};
static Made made;
template <typename T>
T twice(T x)
{
    return x + x;
}
#pragma omp end declare target
struct Box {
    int n;
    double v[4];
    void scale(int d, double f)
    {
#pragma omp target device(d) map(tofrom : this[0 : 1]) firstprivate(f)
        for (int i = 0; i < n; i++)
            v[i] = twice(v[i]) * f;
    }
};
static void add(int d, int &r, const int &by)
{
#pragma omp target device(d) map(tofrom : r) map(to : by)
    r += by;
}
int main()
{
    EACH_DEVICE(d)
    {
        Box b{3, {1, 2, 3, 4}};
        b.scale(d, 10);
        CHECK(b.v[2] == 60 && b.v[3] == 4);
        int r = 5, c = 0, k = 7;
        add(d, r, 6);
        CHECK_EQ(r, 11);
#ifdef __clang__
        auto f = [k](int x) { return x * k; };
#pragma omp target device(d) map(tofrom : r) map(to : f)
        r = f(r);
        int in[8], out[8];
        for (int i = 0; i < 8; i++)
            in[i] = i, out[i] = -1;
        auto g = [&](int i) { out[i] = in[i] * 3; };
#pragma omp target data device(d) map(to : in) map(from : out)
#pragma omp target device(d)
        for (int i = 0; i < 8; i++)
            g(i);
        CHECK_EQ(out[7] + out[0], 21);
#else // g++ 12 breaks on a mapped lambda
        r *= k;
#endif
#pragma omp target device(d) map(from : c)
        c = made.v;
        CHECK_EQ(r, 77);
        CHECK_EQ(c, 77);
        std::vector<float> v(1000, 1.5f);
        float *p = v.data();
        size_t n = v.size();
#pragma omp target teams distribute parallel for device(d) map(tofrom : p[0 : n])
        for (size_t i = 0; i < n; i++)
            p[i] *= 2;
        CHECK(v[0] == 3 && v[999] == 3);
    }
    return check_result();
}
