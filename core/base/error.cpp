#include "core/base/error.h"

namespace vergence {

Error::Error(const std::string& message, ExitCode code) : std::runtime_error(message), m_code(code)
{
}
InputError::InputError(const std::string& message) : IoError(message, ExitCode::InputUnreadable) {}
OutputError::OutputError(const std::string& message, bool diskFull)
    : IoError(message, ExitCode::OutputUnwritable),
      m_diskFull(diskFull)
{
}
NumericsError::NumericsError(const std::string& message) : Error(message) {}
ContractError::ContractError(const std::string& message) : Error(message) {}

Error::~Error() = default;
IoError::~IoError() = default;
InputError::~InputError() = default;
OutputError::~OutputError() = default;
DeviceError::~DeviceError() = default;
NumericsError::~NumericsError() = default;
ContractError::~ContractError() = default;

} // namespace vergence
