#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include <QTemporaryDir>

#include "core/artifact/artifact_store.h"
#include "core/artifact/checkpoint.h"
#include "core/artifact/image.h"
#include "core/artifact/manifest.h"
#include "core/artifact/run_folder.h"
#include "core/base/file.h"

namespace vergence::test {

/// A finished run with boards, planes, numbers and a checkpoint, in a folder that goes away with
/// the object.
class SampleRun {
public:
    SampleRun()
        : m_folder(RunFolder::create(m_place.filePath(QStringLiteral("runs")).toStdString(),
                                     "light_field"))
    {
        writeFileAtomic(m_folder.config(), std::string_view("iterations = 200\n"));
        writeFileAtomic(m_folder.configInput(), std::string_view("iterations = 200\n"));
        writeFileAtomic(m_folder.metrics(), std::string_view("step,wall_s,name,value\n"
                                                             "0,0.5,train/loss,1.5\n"
                                                             "0,0.5,train/psnr,20\n"
                                                             "10,1.5,train/loss,nan\n"));
        writeFileAtomic(m_folder.log(), std::string_view("{\"text\":\"started\"}\n"));
        RunStatus status;
        status.state = "Completed";
        status.plugin = "light_field";
        status.step = status.total = 200;
        writeStatus(m_folder, status);
        ArtifactStore store(m_folder);
        for (const int n : {2, 10, 26}) {
            Image eye = makeImage(32, 24, 3, static_cast<std::uint8_t>(n * 9));
            drawText(eye, 4, 8, std::to_string(n), 255, 255, 255);
            store.writePng("boards/n" + std::to_string(n) + "/eye.png", eye, "eye-view");
        }
        for (int k = 1; k <= 12; ++k)
            store.writePng("planes/plane-" + std::to_string(k) + ".png",
                           makeImage(16, 16, 3, static_cast<std::uint8_t>(20 * k)),
                           "display-plane");
        store.writeText("report.json", "{\"psnr\": 31.5}\n", "report");
        saveCheckpoint(m_folder, {.step = 200, .state = {{"k", 1}}, .tensors = {}});
        writeManifest(m_folder, makeManifest(m_folder), store.list());
    }

    const RunFolder& folder() const { return m_folder; }

private:
    QTemporaryDir m_place;
    RunFolder m_folder;
};

} // namespace vergence::test
