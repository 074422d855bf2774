#include "plenum/draw/detail/batches.h"

#include "plenum/draw/style.h"

namespace plenum::inline PLENUM_ABI { namespace detail {

namespace {
Vector3<float> light_of(Rgb8 c) {
  return {float(linear_from_srgb(c.r / 255.0)), float(linear_from_srgb(c.g / 255.0)),
          float(linear_from_srgb(c.b / 255.0))};
}
}  // namespace

Material material_of(Look look, int palette) {
  Material m;
  m.front = m.back = light_of(palette_colour(palette < 0 ? -1 - palette : palette));
  switch (look) {
    case Look::body:
      m.roughness = 0.42f;
      break;
    case Look::cloth: {
      // The lining: the same dye on a paler thread.
      const Vector3<float> pale = light_of({238, 226, 206});
      m.back = 0.58f * m.front + 0.42f * pale;
      m.roughness = 0.8f, m.specular = 0.02f, m.sheen = 0.32f, m.through = 0.10f;
      break;
    }
    case Look::obstacle:
      if (palette < 0) m.front = m.back = light_of({190, 185, 176});
      m.roughness = 0.6f, m.specular = 0.03f;
      break;
    case Look::particle:
      m.roughness = 0.48f;
      break;
    case Look::thread:
      m.roughness = 0.6f, m.specular = 0.03f, m.sheen = 0.15f;
      break;
    case Look::trail:
      m.roughness = 0.9f, m.specular = 0.0f;
      break;
    case Look::mark:
    case Look::outline:
      m.front = m.back = light_of(mark_colour(palette));
      break;
  }
  return m;
}

std::optional<MarkOpacity> opacity_of(Look look, Shape shape) {
  if (look != Look::mark && look != Look::outline) return std::nullopt;
  // A tint leaves the form of what it lies on to be seen.
  if (shape == Shape::triangles) return MarkOpacity{0.85f, 0.0f};
  return look == Look::mark ? MarkOpacity{0.95f, 0.65f} : MarkOpacity{0.85f, 0.10f};
}

TriangleBatch::TriangleBatch() {
  glBindVertexArray(vertex_array);
  glBindBuffer(GL_ARRAY_BUFFER, vertices);
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices);
  const auto attribute = [](GLuint location, int count, std::size_t offset) {
    glEnableVertexAttribArray(location);
    glVertexAttribPointer(location, count, GL_FLOAT, GL_FALSE, sizeof(DrawVertex),
                          reinterpret_cast<void*>(offset));
  };
  attribute(0, 3, offsetof(DrawVertex, position));
  attribute(1, 3, offsetof(DrawVertex, normal));
  attribute(2, 1, offsetof(DrawVertex, value));
  glEnableVertexAttribArray(3);
  glVertexAttribPointer(3, 3, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(DrawVertex),
                        reinterpret_cast<void*>(offsetof(DrawVertex, dye)));
}

void TriangleBatch::upload(const DrawMesh& mesh) {
  glBindVertexArray(vertex_array);
  glBindBuffer(GL_ARRAY_BUFFER, vertices);
  glBufferData(GL_ARRAY_BUFFER, GLsizeiptr(mesh.vertices.size() * sizeof(DrawVertex)), mesh.vertices.data(),
               GL_STREAM_DRAW);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, GLsizeiptr(mesh.indices.size() * sizeof(std::uint32_t)),
               mesh.indices.data(), GL_STREAM_DRAW);
  num_indices = static_cast<GLsizei>(mesh.indices.size());
  box = {};
  for (const DrawVertex& v : mesh.vertices) box.extend(Vec3(v.position[0], v.position[1], v.position[2]));
}

ItemBatch::ItemBatch() {
  GLuint name = 0;
  glGenTextures(1, &name);
  texture = GlTexture(name);
}

void ItemBatch::upload(std::span<const float> texels, int count) {
  num_items = count;
  glBindBuffer(GL_TEXTURE_BUFFER, buffer);
  glBufferData(GL_TEXTURE_BUFFER, GLsizeiptr(texels.size_bytes()), texels.data(), GL_STREAM_DRAW);
  glBindTexture(GL_TEXTURE_BUFFER, texture);
  glTexBuffer(GL_TEXTURE_BUFFER, GL_RGBA32F, buffer);
}

void QuadIndices::bind(int items) {
  glBindVertexArray(vertex_array_);
  if (items <= capacity_) return;
  capacity_ = std::max(items, 2 * capacity_);
  std::vector<std::uint32_t> indices(static_cast<std::size_t>(capacity_) * 6);
  constexpr std::uint32_t corner[6] = {0, 1, 2, 2, 1, 3};
  for (std::size_t i = 0; i < indices.size(); ++i)
    indices[i] = static_cast<std::uint32_t>(i / 6 * 4) + corner[i % 6];
  glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, indices_);
  glBufferData(GL_ELEMENT_ARRAY_BUFFER, GLsizeiptr(indices.size() * sizeof(std::uint32_t)), indices.data(),
               GL_STATIC_DRAW);
}

}}  // namespace plenum::PLENUM_ABI::detail
