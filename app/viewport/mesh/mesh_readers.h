#pragma once

#include <filesystem>
#include <string>

#include "app/viewport/mesh/view_mesh.h"

namespace vergence {

/// glTF 2.0 in its binary form: the triangles of the default scene with the matrices of its nodes,
/// base colours and their pictures. Compressed and sparse data are refused by name.
ViewMesh readGlbMesh(const std::filesystem::path& path);

/// Wavefront OBJ with its MTL file and the pictures named there. Polygons become triangles.
ViewMesh readObjMesh(const std::filesystem::path& path);

/// PLY 1.0, text or binary: vertices with normals, colours and texture coordinates, faces with any
/// number of corners.
ViewMesh readPlyMesh(const std::filesystem::path& path);
/// True where the header can be read and declares faces.
bool hasPlyFaces(const std::filesystem::path& path);

/// Throws InputError: the file, the fault, the remedy.
[[noreturn]] void refuseMesh(const std::filesystem::path& path, const std::string& fault,
                             const std::string& remedy = "Write it again or choose another file.");

/// An encoded picture as RGBA8888; null where it cannot be decoded.
QImage decodePicture(const QByteArray& bytes);

/// Takes up or front from the words of a comment, "up 0 0 1"; true where they say so.
bool takeDirection(const QList<QByteArray>& words, QVector3D& up, QVector3D& front);

/// Checks that a reader's indices and numbers are usable, and that it found triangles at all.
void checkMesh(const std::filesystem::path& path, const ViewMesh& mesh);

} // namespace vergence
