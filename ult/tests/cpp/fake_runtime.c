/* Something that looks like one more copy of the C++ runtime and can be unloaded. */
static __thread unsigned long globals[2];
void *__cxa_get_globals(void)
{
    return globals;
}
