#include "core/artifact/zip_archive.h"

#include <fmt/format.h>

#include "core/artifact/output_file.h"
#include "core/base/error.h"

namespace vergence {

namespace {

zip_t* openZip(const std::filesystem::path& path, int flags, std::string& reason, int& systemError)
{
    int code = 0;
    zip_t* zip = zip_open(path.c_str(), flags, &code);
    if (zip)
        return zip;
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    reason = zip_error_strerror(&error);
    systemError = zip_error_system_type(&error) == ZIP_ET_SYS ? zip_error_code_system(&error) : 0;
    zip_error_fini(&error);
    return nullptr;
}

} // namespace

ZipArchive ZipArchive::openForReading(const std::filesystem::path& path)
{
    std::string reason;
    int systemError = 0;
    zip_t* zip = openZip(path, ZIP_RDONLY | ZIP_CHECKCONS, reason, systemError);
    if (!zip)
        throw InputError(fmt::format("Cannot read the ZIP {}: {}.", path.string(), reason));
    return ZipArchive(zip);
}

ZipArchive ZipArchive::create(const std::filesystem::path& path)
{
    std::string reason;
    int systemError = 0;
    zip_t* zip = openZip(path, ZIP_CREATE | ZIP_TRUNCATE, reason, systemError);
    if (!zip && systemError != 0)
        throwCannotWrite(path, systemError);
    if (!zip)
        throw OutputError(fmt::format("Cannot write the ZIP {}: {}.", path.string(), reason));
    return ZipArchive(zip);
}

} // namespace vergence
