/* Real images for GPUs, in a driver that has no GPU: what an image says about itself is read from it, and its
 * kernels run as this machine's functions of the same names.
 *
 * Those are in the program, too, if it was built for two targets
 * (-fopenmp-targets=x86_64-pc-linux-gnu,nvptx64-nvidia-cuda): an ELF file among its constants. So what is
 * checked here is what a GPU's driver would look at: names and sizes of variables, their first values, how
 * many bytes of parameters a kernel takes.
 *
 * The format: the ELF specification, and for `.nv.info.*` what `readelf` and `nvdisasm` show of files that
 * ptxas 13.0 made: entries of a format byte, an attribute byte and a 16-bit value, behind which so many bytes
 * follow if the format is 4. */
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OSABI_CUDA = 65, OSABI_CUDA_OLD = 51, INFO_WITH_BYTES = 4, INFO_PARAMETER_BYTES = 0x19 };

/* A variable of an image for GPUs that this machine's has not: a copy of its first value. */
struct variable {
    struct variable *next;
    const char *name;
    void *at;
    size_t size;
};

/* Is it code for a GPU, and not an image for this machine that was marked as such? */
static int is_cubin(const Elf64_Ehdr *image)
{
    return image->e_ident[EI_OSABI] == OSABI_CUDA || image->e_ident[EI_OSABI] == OSABI_CUDA_OLD;
}

static const Elf64_Shdr *section(const Elf64_Ehdr *image, unsigned number)
{
    return (const Elf64_Shdr *)((const char *)image + image->e_shoff) + number;
}

static const char *text_at(const Elf64_Ehdr *image, unsigned table, size_t at)
{
    return (const char *)image + section(image, table)->sh_offset + at;
}

/* Its symbol of that name, a STT_FUNC or STT_OBJECT. */
static const Elf64_Sym *cubin_symbol(const Elf64_Ehdr *image, const char *name, int type)
{
    for (unsigned s = 0; s < image->e_shnum; s++) {
        const Elf64_Shdr *table = section(image, s);
        if (table->sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)image + table->sh_offset);
        for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
            if (ELF64_ST_TYPE(symbols[i].st_info) == type && ELF64_ST_BIND(symbols[i].st_info) != STB_LOCAL &&
                symbols[i].st_shndx != SHN_UNDEF &&
                !strcmp(text_at(image, table->sh_link, symbols[i].st_name), name))
                return symbols + i;
    }
    return NULL;
}

/* The bytes of parameters that a kernel takes, as ptxas noted them; -1 if it did not. */
static long cubin_parameter_bytes(const Elf64_Ehdr *image, const char *kernel)
{
    char wanted[512];
    snprintf(wanted, sizeof wanted, ".nv.info.%s", kernel);
    for (unsigned s = 0; s < image->e_shnum; s++) {
        const Elf64_Shdr *info = section(image, s);
        if (strcmp(text_at(image, image->e_shstrndx, info->sh_name), wanted))
            continue;
        const unsigned char *at = (const unsigned char *)image + info->sh_offset, *end = at + info->sh_size;
        while (at + 4 <= end) {
            unsigned value = at[2] | at[3] << 8;
            if (at[1] == INFO_PARAMETER_BYTES)
                return value;
            at += 4 + (at[0] == INFO_WITH_BYTES ? value : 0);
        }
    }
    return -1;
}

/* A copy of a variable's first value. Where that is a constructor or destructor, its address is the
 * variable's name here: the code does not run. */
static void *first_value(const Elf64_Ehdr *image, const Elf64_Sym *symbol, const char *name)
{
    const Elf64_Shdr *in = section(image, symbol->st_shndx);
    char *copy = calloc(1, symbol->st_size ? symbol->st_size : 1);
    if (copy && in->sh_type == SHT_PROGBITS)
        memcpy(copy, (const char *)image + in->sh_offset + symbol->st_value, symbol->st_size);
    if (copy && symbol->st_size == sizeof name &&
        (!strncmp(name, "__init_array_object_", 20) || !strncmp(name, "__fini_array_object_", 20)))
        memcpy(copy, &name, sizeof name);
    return copy;
}

/* Has it objects to construct? */
static int cubin_has_constructors(const Elf64_Ehdr *image)
{
    for (unsigned s = 0; s < image->e_shnum; s++) {
        const Elf64_Shdr *table = section(image, s);
        const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)image + table->sh_offset);
        for (size_t i = 0; table->sh_type == SHT_SYMTAB && i < table->sh_size / sizeof *symbols; i++)
            if (!strncmp(text_at(image, table->sh_link, symbols[i].st_name), "__init_array_object_", 20))
                return 1;
    }
    return 0;
}

/* What the variable of this name says where a list begins or ends; 0 if nothing was written. */
static uintptr_t list_end(const struct variable *variables, const char *name)
{
    for (; variables; variables = variables->next)
        if (!strcmp(variables->name, name))
            return *(uintptr_t *)variables->at;
    return 0;
}

/* How many there are in the list that was written. */
static long list_of_constructors(const struct variable *variables)
{
    uintptr_t begin = list_end(variables, "__init_array_start"),
              end = list_end(variables, "__init_array_end");
    return begin && end ? (long)((end - begin) / sizeof(void *)) : 0;
}

/* The next image for this machine among the program's constants. */
struct search {
    const char *wanted; /* a function that it has to have; any if null */
    const Elf64_Ehdr *found;
};

static int has_function(const Elf64_Ehdr *image, const char *name)
{
    for (unsigned s = 0; s < image->e_shnum; s++) {
        const Elf64_Shdr *table = section(image, s);
        if (table->sh_type != SHT_DYNSYM)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)image + table->sh_offset);
        for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
            if (symbols[i].st_shndx != SHN_UNDEF &&
                !strcmp(text_at(image, table->sh_link, symbols[i].st_name), name))
                return 1;
    }
    return 0;
}

static int search_object(struct dl_phdr_info *object, size_t size, void *data)
{
    (void)size;
    struct search *search = data;
    for (int i = 0; i < object->dlpi_phnum && !search->found; i++) {
        const Elf64_Phdr *part = object->dlpi_phdr + i;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_R))
            continue;
        const char *begin = (const char *)object->dlpi_addr + part->p_vaddr, *end = begin + part->p_filesz;
        /* Not at its beginning: that is the object itself. */
        for (const char *at = begin + 8 - (uintptr_t)begin % 8; at + sizeof(Elf64_Ehdr) <= end; at += 8) {
            const Elf64_Ehdr *image = (const Elf64_Ehdr *)at;
            if (memcmp(at, ELFMAG, SELFMAG) || image->e_machine != EM_X86_64 || image->e_type != ET_DYN)
                continue;
            size_t bytes = image->e_shoff + (size_t)image->e_shnum * image->e_shentsize;
            if (bytes <= (size_t)(end - at) && has_function(image, search->wanted)) {
                search->found = image;
                break;
            }
        }
    }
    return search->found != NULL;
}

/* The image for this machine that belongs to one for GPUs: it has the same kernels. Null if the program was
 * built for GPUs alone; `kernels` says whether there are any. */
static const Elf64_Ehdr *companion(const Elf64_Ehdr *cubin, int *kernels)
{
    *kernels = 0;
    for (unsigned s = 0; s < cubin->e_shnum; s++) {
        const Elf64_Shdr *table = section(cubin, s);
        if (table->sh_type != SHT_SYMTAB)
            continue;
        const Elf64_Sym *symbols = (const Elf64_Sym *)((const char *)cubin + table->sh_offset);
        for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
            const char *name = text_at(cubin, table->sh_link, symbols[i].st_name);
            if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC ||
                ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL || strncmp(name, "__omp_offloading_", 17))
                continue;
            *kernels = 1;
            struct search search = {.wanted = name};
            dl_iterate_phdr(search_object, &search);
            return search.found;
        }
    }
    return NULL;
}
