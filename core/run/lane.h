#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vergence {

/// A file whose lock this process has, until it closes the file or ends. Move-only.
class LockedFile {
public:
    explicit LockedFile(int file = -1) : m_file(file) {}
    ~LockedFile() { close(); }
    LockedFile(LockedFile&& other) noexcept : m_file(std::exchange(other.m_file, -1)) {}
    LockedFile& operator=(LockedFile&& other) noexcept
    {
        close();
        m_file = std::exchange(other.m_file, -1);
        return *this;
    }

    int descriptor() const { return m_file; }
    bool isOpen() const { return m_file >= 0; }
    void close() noexcept;

private:
    int m_file;
};

/// Where processes of this user wait for the lanes of this computer: `lanes/HOST` below
/// stateHome().
std::filesystem::path laneFolder();

/// A place in the line for one of the lanes of this computer. Each lane is a device, which may have
/// several; who comes first gets the first that is free. Locks of files are what processes meet at:
/// one that ends, however it does, leaves its place and its lane.
class LaneTicket {
public:
    /// `place`: tickets go in the order of their places, which are plain text; digits of one
    /// length, say. `devices`: of the lanes, for instance {"cuda:0", "cuda:1"}; "" is a lane whose
    /// run takes what device it likes. Throws OutputError.
    LaneTicket(std::filesystem::path folder, std::string place, std::vector<std::string> devices);
    ~LaneTicket(); ///< leaves the line, or the lane
    LaneTicket(const LaneTicket&) = delete;
    LaneTicket& operator=(const LaneTicket&) = delete;

    /// Takes a lane if one is free that nobody before this one waits for: its device. Never waits.
    std::optional<std::string> enter();
    /// How many wait before this one, for lanes that it waits for too.
    int before() const;
    /// Keeps the lane in programs that this one becomes by exec.
    void keepAcrossExec();

private:
    struct Lane {
        std::string name; ///< "cuda:0.1": the second lane of that device
        std::string device;
    };

    void join();
    void leaveLine() noexcept;
    std::vector<std::filesystem::path> earlierTickets() const;
    bool isForMyLanes(const std::vector<std::string>& lanes) const;

    std::filesystem::path m_folder;
    std::string m_name; ///< of the ticket's file
    std::vector<Lane> m_lanes;
    LockedFile m_ticket, m_lane;
};

} // namespace vergence
