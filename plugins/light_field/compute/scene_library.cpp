#include <functional>
#include <utility>

#include "core/base/error.h"
#include "plugins/light_field/compute/scene.h"

namespace vergence::light_field {

namespace {

Primitive sphere(double x, double y, double z, double radius, float r, float g, float b)
{
    Primitive primitive;
    primitive.center[0] = x;
    primitive.center[1] = y;
    primitive.center[2] = z;
    primitive.size = radius;
    primitive.color[0] = r;
    primitive.color[1] = g;
    primitive.color[2] = b;
    return primitive;
}

Primitive cube(double x, double y, double z, double edge, float r, float g, float b)
{
    Primitive primitive = sphere(x, y, z, edge, r, g, b);
    primitive.kind = PrimitiveKind::Cube;
    return primitive;
}

Primitive letter(Primitive base, Texture texture, double scale)
{
    base.texture = texture;
    base.textureScale = scale;
    return base;
}

struct NamedScene {
    const char* name;
    std::vector<Primitive> primitives;
};

// A table: the compact set of the seed, then the rich set.
std::vector<NamedScene> library()
{
    return {
        {"basic",
         {sphere(0, 0, 150, 15, 1, 0, 0), sphere(20, 0, 200, 10, 0, 1, 0),
          sphere(-15, 10, 180, 8, 0, 0, 1)}},
        {"complex",
         {sphere(0, 0, 120, 20, 1, .5f, 0), sphere(30, 15, 180, 12, .8f, 0, .8f),
          sphere(-25, -10, 200, 15, 0, .8f, .8f)}},
        {"stick_figure",
         {sphere(0, 15, 180, 8, 1, .8f, .6f), sphere(0, 0, 180, 6, 1, .8f, .6f),
          sphere(-8, 5, 180, 4, 1, .8f, .6f), sphere(8, 5, 180, 4, 1, .8f, .6f)}},
        {"layered",
         {sphere(0, 0, 100, 12, 1, 0, 0), sphere(0, 0, 200, 15, 0, 1, 0),
          sphere(0, 0, 300, 18, 0, 0, 1)}},
        {"office",
         {sphere(-20, -20, 150, 25, .8f, .6f, .4f), sphere(0, 10, 180, 8, .2f, .2f, .2f)}},
        {"nature",
         {sphere(0, -30, 200, 35, .4f, .8f, .2f), sphere(25, -25, 180, 20, .3f, .7f, .1f)}},
        {"textured_basic",
         {letter(sphere(0, 0, 120, 15, 1, 0, 0), Texture::LetterA, 6),
          letter(sphere(25, 0, 180, 12, 0, 1, 0), Texture::LetterB, 8),
          letter(sphere(-20, 15, 240, 10, 0, 0, 1), Texture::LetterC, 10)}},
        {"basic_plus",
         {sphere(0, 5, 150, 8, 1, .3f, .3f), cube(-10, -5, 200, 6, .3f, 1, .3f),
          sphere(8, 0, 250, 5, .3f, .3f, 1), sphere(0, -8, 300, 4, 1, 1, .3f)}},
        {"complex_plus",
         {cube(-5, 8, 120, 3, 1, .5f, 0), sphere(6, -6, 140, 4, .8f, .2f, .8f),
          cube(0, 0, 180, 7, .2f, .8f, .2f), sphere(-8, 4, 220, 5, .2f, .6f, 1),
          cube(3, -2, 280, 6, 1, 1, .2f), sphere(0, 6, 320, 4, .6f, .3f, .9f)}},
        {"stick_plus",
         {sphere(-2, 8, 160, 2.5, .9f, .7f, .5f), cube(-2, 3, 160, 3, .2f, .4f, .8f),
          cube(-5, 4, 160, 1.5, .9f, .7f, .5f), cube(1, 4, 160, 1.5, .9f, .7f, .5f),
          cube(-3.5, -2, 160, 2, .3f, .3f, .3f), cube(-.5, -2, 160, 2, .3f, .3f, .3f),
          sphere(8, 2, 240, 8, .1f, .6f, .1f), cube(-6, -1, 300, 10, .7f, .5f, .3f),
          sphere(12, 10, 400, 6, 1, .9f, .3f)}},
        {"layered_plus",
         {sphere(0, 0, 110, 2, 1, 0, 0), cube(4, 3, 130, 2.5, 1, .5f, 0),
          sphere(-3, -2, 180, 4, 0, 1, 0), cube(2, -4, 190, 3.5, 0, 1, 1),
          sphere(0, 2, 230, 5, 0, 0, 1), cube(-4, 0, 240, 4.5, 1, 0, 1),
          sphere(3, 1, 290, 6, 1, 1, 0), cube(0, -3, 310, 5.5, .5f, .5f, .5f)}},
        {"office_plus",
         {cube(-3, -2, 120, 2, .8f, .1f, .1f), cube(4, -1, 130, 1.5, .2f, .2f, .2f),
          cube(0, 3, 180, 8, .1f, .1f, .1f), sphere(6, 0, 170, 3, .2f, .7f, .2f),
          cube(-2, 8, 280, 4, .9f, .9f, .2f), cube(4, 6, 300, 6, .8f, .8f, .8f)}},
        {"nature_plus",
         {sphere(2, -3, 110, 2, 1, .2f, .6f), sphere(-4, -2, 125, 1.8, .9f, .9f, .2f),
          cube(0, -5, 170, 5, .3f, .8f, .3f), sphere(8, -3, 190, 4, .2f, .6f, .2f),
          sphere(-6, 2, 250, 12, .1f, .5f, .1f), sphere(3, 4, 320, 10, .15f, .6f, .15f),
          sphere(10, 12, 400, 5, .9f, .9f, .9f)}},
    };
}

constexpr const char* kCheckerboard = "spherical_checkerboard";

} // namespace

int checkerCellSize(int n)
{
    expects(n >= 1 && n <= 1000, "checkerboard: n must lie between 1 and 1000");
    return 1000 / n;
}

std::vector<int> seedBoards()
{
    std::vector<int> boards;
    for (int n = 26; n <= 60; n += 2)
        boards.push_back(n);
    return boards;
}

Scene checkerboardScene(const CheckerboardOptions& options)
{
    Primitive ball =
        sphere(options.center[0], options.center[1], options.center[2], options.radius, 1, 1, 1);
    ball.texture = options.equalAngle ? Texture::CheckerEqualAngle : Texture::CheckerSeed;
    ball.textureScale = options.equalAngle ? options.n : checkerCellSize(options.n);
    return Scene(kCheckerboard, {ball});
}

std::vector<std::string> sceneNames()
{
    std::vector<std::string> names;
    for (const NamedScene& scene : library()) {
        names.emplace_back(scene.name);
        if (names.back() == "nature")
            names.emplace_back(kCheckerboard);
    }
    return names;
}

Scene namedScene(std::string_view name)
{
    if (name == kCheckerboard)
        return checkerboardScene({.n = 20});
    std::string known;
    for (NamedScene& scene : library()) {
        if (name == scene.name)
            return Scene(scene.name, std::move(scene.primitives));
        known += known.empty() ? scene.name : std::string(", ") + scene.name;
    }
    throw ContractError("There is no scene " + std::string(name) + "; choose " + known + " or " +
                        kCheckerboard + ".");
}

} // namespace vergence::light_field
