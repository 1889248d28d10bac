// what: properties of interop objects, @TYPE@
// each: TYPE = target / targetsync
// compilers: clang>=19
// flags: clang -fopenmp-version=51
// offload: yes
// devices: 0,1,3
// threads: 4
// mode: preload
// ours: interop objects
#include "cuda.h"
static const char *const names[] = {"fr_id", "fr_name", "vendor", "vendor_name", "device_num", "platform", "device", "device_context", "targetsync"};
enum { INT, STR, PTR };
static const int of_gpu[] = {INT, STR, INT, STR, INT, -1, INT, PTR, PTR}, of_others[] = {-1, -1, -1, STR, INT, -1, -1, -1, -1};

/* What each routine says about a property whose value has this type; -1: it has none. */
static void check_codes(omp_interop_t object, int property, int type)
{
    static const int mismatch[] = {omp_irc_type_int, omp_irc_type_str, omp_irc_type_ptr};
    int codes[3] = {7, 7, 7};
    omp_intptr_t number = omp_get_interop_int(object, property, &codes[INT]);
    const char *text = omp_get_interop_str(object, property, &codes[STR]);
    void *pointer = omp_get_interop_ptr(object, property, &codes[PTR]);
    for (int asked = 0; asked < 3; asked++)
        CHECK_EQ(codes[asked], type < 0 ? omp_irc_no_value : type == asked ? omp_irc_success : mismatch[type]);
    CHECK(type == INT || number == 0);
    CHECK((text != NULL) == (type == STR));
    CHECK((pointer != NULL) == (type == PTR));
}

static void check_values(omp_interop_t object, int device)
{
    int gpu = is_of_a_gpu(object);
    CHECK_EQ(gpu, getenv("OMPX_CUDA") != NULL);
    CHECK_EQ(omp_get_num_interop_properties(object), 0);
    for (int i = 0; i < 9; i++) {
        check_codes(object, -1 - i, (gpu ? of_gpu : of_others)[i]);
        CHECK_EQ(strcmp(omp_get_interop_name(object, -1 - i), names[i]), 0);
        CHECK(omp_get_interop_type_desc(object, -1 - i)[0] != 0);
    }
    CHECK_EQ(omp_get_interop_int(object, omp_ipr_device_num, NULL), device);
    CHECK_EQ(strcmp(omp_get_interop_str(object, omp_ipr_vendor_name, NULL), gpu ? "nvidia" : "gangway"), 0);
    if (gpu) {
        CHECK_EQ(omp_get_interop_int(object, omp_ipr_device, NULL), device);
        CHECK_EQ(omp_get_interop_int(object, omp_ipr_vendor, NULL), 11);
        CHECK_EQ(strcmp(omp_get_interop_str(object, omp_ipr_fr_name, NULL), "cuda"), 0);
        CHECK(stream_of(object) == stream_of(object));
        CHECK_EQ(strcmp(omp_get_interop_type_desc(object, omp_ipr_targetsync), "cudaStream_t"), 0);
    }
}

static void check_none(omp_interop_t object, int want)
{
    for (int i = -9; i < 0; i++) {
        int codes[3] = {7, 7, 7};
        CHECK_EQ(omp_get_interop_int(object, i, &codes[0]), 0);
        CHECK(!omp_get_interop_str(object, i, &codes[1]) && !omp_get_interop_ptr(object, i, &codes[2]));
        for (int j = 0; j < 3; j++)
            CHECK_EQ(codes[j], want);
        CHECK(!omp_get_interop_name(object, i) && !omp_get_interop_type_desc(object, i));
    }
    for (int code = -6; code <= 1; code++)
        CHECK(omp_get_interop_rc_desc(object, code)[0] != 0);
}

int main(void)
{
    EACH_DEVICE(d)
    {
        omp_interop_t object = omp_interop_none, other = omp_interop_none;
        int code = 7;
#pragma omp interop init(@TYPE@ : object) device(d)
#pragma omp interop init(@TYPE@ : other) device(d)
        if (d == omp_get_initial_device()) {
            CHECK(object == omp_interop_none && other == omp_interop_none);
            check_none(object, omp_irc_empty);
            continue;
        }
        CHECK(object != omp_interop_none && other != omp_interop_none && object != other);
        check_values(object, d);
        check_values(other, d);
        CHECK(!is_of_a_gpu(object) || stream_of(object) != stream_of(other));
        omp_get_interop_int(object, 0, &code);
        CHECK_EQ(code, omp_irc_out_of_range);
        omp_get_interop_ptr(object, omp_ipr_first - 1, &code);
        CHECK_EQ(code, omp_irc_out_of_range);
        CHECK(!omp_get_interop_name(object, 0) && !omp_get_interop_type_desc(object, -10));
        omp_interop_t stale = object;
#pragma omp interop destroy(object)
        CHECK(object == omp_interop_none);
        check_none(object, omp_irc_empty);
        check_none(stale, omp_irc_other);
        check_values(other, d);
#pragma omp interop destroy(other)
    }
    omp_interop_t of_default = omp_interop_none;
#pragma omp interop init(@TYPE@ : of_default)
    if (omp_get_num_devices() > 0)
        CHECK_EQ(omp_get_interop_int(of_default, omp_ipr_device_num, NULL), omp_get_default_device());
    else
        CHECK(of_default == omp_interop_none);
#pragma omp interop destroy(of_default)
    return check_result();
}
