/** Generates the built-in models, plain heads: `node services/voice/src/make-models.ts`. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

interface Head {
  id: string;
  label: string;
  gender: 'FEMALE' | 'MALE';
  skin: Color;
  hair: Color;
  /** The lower end of the hair: 0 is the top of the head, 1 the chin. */
  hairLength: number;
}

type Color = [number, number, number];
type Vector = [number, number, number];

export const heads: Head[] = [
  { id: 'aria', label: 'Aria', gender: 'FEMALE', skin: [0.9, 0.72, 0.6], hair: [0.3, 0.16, 0.08], hairLength: 0.75 },
  { id: 'noor', label: 'Noor', gender: 'FEMALE', skin: [0.62, 0.42, 0.3], hair: [0.06, 0.05, 0.05], hairLength: 0.9 },
  { id: 'leo', label: 'Leo', gender: 'MALE', skin: [0.85, 0.66, 0.52], hair: [0.45, 0.3, 0.15], hairLength: 0.4 },
];

interface Shape {
  center: Vector;
  radius: Vector;
  color: Color;
  /** The visible part of the ellipsoid, from the top (0) to the bottom (1). Default: all of it. */
  until?: number;
  /** The growth of this part when the mouth opens, as a morph target. */
  opens?: Vector;
}

/** Makes the `.glb` of a head with eyes, hair and a mouth. The morph target `mouthOpen` opens the mouth. */
export function makeModel({ id, skin, hair, hairLength }: Head): Buffer {
  const shapes: Shape[] = [
    { center: [0, 1.6, 0], radius: [0.1, 0.135, 0.115], color: skin },
    { center: [0, 1.43, -0.01], radius: [0.05, 0.1, 0.05], color: skin },
    { center: [0, 1.615, -0.012], radius: [0.108, 0.14, 0.118], color: hair, until: hairLength * 0.55 },
    { center: [-0.036, 1.625, 0.098], radius: [0.016, 0.012, 0.012], color: [0.97, 0.97, 0.97] },
    { center: [0.036, 1.625, 0.098], radius: [0.016, 0.012, 0.012], color: [0.97, 0.97, 0.97] },
    { center: [-0.036, 1.625, 0.107], radius: [0.007, 0.007, 0.006], color: [0.1, 0.08, 0.06] },
    { center: [0.036, 1.625, 0.107], radius: [0.007, 0.007, 0.006], color: [0.1, 0.08, 0.06] },
    { center: [0, 1.59, 0.115], radius: [0.012, 0.022, 0.014], color: skin },
    { center: [0, 1.545, 0.095], radius: [0.032, 0.005, 0.014], color: [0.6, 0.22, 0.22], opens: [1, 4, 1] },
  ];
  return glb(id, shapes);
}

const rings = 12;
const sectors = 18;

function glb(name: string, shapes: Shape[]): Buffer {
  const chunks: Buffer[] = [];
  const bufferViews: object[] = [];
  const accessors: object[] = [];
  let offset = 0;
  const add = (data: Float32Array | Uint16Array, target: number, accessor: object): number => {
    const bytes = Buffer.from(data.buffer);
    const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
    bufferViews.push({ buffer: 0, byteOffset: offset, byteLength: bytes.length, target });
    accessors.push({ bufferView: bufferViews.length - 1, ...accessor });
    chunks.push(padded);
    offset += padded.length;
    return accessors.length - 1;
  };
  const vectors = (points: Vector[], withBounds: boolean) => {
    const axis = (pick: (...values: number[]) => number) => [0, 1, 2].map((i) => pick(...points.map((p) => p[i] ?? 0)));
    const data = new Float32Array(points.flat());
    const bounds = withBounds
      ? { min: axis(Math.min).map(Math.fround), max: axis(Math.max).map(Math.fround) }
      : undefined;
    return add(data, 34_962, { componentType: 5126, count: points.length, type: 'VEC3', ...bounds });
  };

  const meshes = shapes.map((shape, material) => {
    const { points, normals, indices, opened } = ellipsoid(shape);
    const attributes = { POSITION: vectors(points, true), NORMAL: vectors(normals, false) };
    const index = add(new Uint16Array(indices), 34_963, { componentType: 5123, count: indices.length, type: 'SCALAR' });
    const targets = opened && [{ POSITION: vectors(opened, true) }];
    return {
      primitives: [{ attributes, indices: index, material, ...(targets && { targets }) }],
      ...(targets && { weights: [0], extras: { targetNames: ['mouthOpen'] } }),
    };
  });
  const document = {
    asset: { version: '2.0', generator: 'make-models.ts', copyright: 'CC0' },
    scene: 0,
    scenes: [{ name, nodes: meshes.map((_, i) => i) }],
    nodes: meshes.map((_, mesh) => ({ mesh })),
    meshes,
    materials: shapes.map(({ color }) => ({
      pbrMetallicRoughness: { baseColorFactor: [...color, 1], metallicFactor: 0, roughnessFactor: 0.8 },
      doubleSided: true,
    })),
    bufferViews,
    accessors,
    buffers: [{ byteLength: offset }],
  };
  const text = Buffer.from(JSON.stringify(document));
  const json = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, ' ')]);
  const binary = Buffer.concat(chunks);
  const header = Buffer.alloc(12);
  header.write('glTF', 0);
  header.writeUInt32LE(2, 4);
  header.writeUInt32LE(28 + json.length + binary.length, 8);
  return Buffer.concat([header, chunkHead(json, 'JSON'), json, chunkHead(binary, 'BIN\0'), binary]);
}

function chunkHead(content: Buffer, type: string): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(content.length, 0);
  head.write(type, 4, 'latin1');
  return head;
}

function ellipsoid({ center, radius, until = 1, opens }: Shape) {
  const points: Vector[] = [];
  const normals: Vector[] = [];
  const opened: Vector[] = [];
  const indices: number[] = [];
  for (let ring = 0; ring <= rings; ring += 1) {
    for (let sector = 0; sector <= sectors; sector += 1) {
      const down = (Math.PI * until * ring) / rings;
      const round = (2 * Math.PI * sector) / sectors;
      const on: Vector = [Math.sin(down) * Math.cos(round), Math.cos(down), Math.sin(down) * Math.sin(round)];
      points.push(each((i) => center[i] + on[i] * radius[i]));
      const slope = each((i) => on[i] / radius[i]);
      const length = Math.hypot(...slope);
      normals.push(each((i) => slope[i] / length));
      if (opens) opened.push(each((i) => on[i] * radius[i] * (opens[i] - 1)));
    }
  }
  const row = sectors + 1;
  for (let ring = 0; ring < rings; ring += 1) {
    for (let sector = 0; sector < sectors; sector += 1) {
      const a = ring * row + sector;
      indices.push(a, a + 1, a + row, a + 1, a + row + 1, a + row);
    }
  }
  return { points, normals, indices, opened: opens && opened };
}

function each(value: (axis: 0 | 1 | 2) => number): Vector {
  return [value(0), value(1), value(2)];
}

/** The content of `models.json`. */
export const catalog = `${JSON.stringify(
  heads.map(({ id, label, gender }) => ({ id, label, gender })),
  null,
  2,
)}\n`;

if (import.meta.main) {
  const folder = fileURLToPath(new URL('../models/', import.meta.url));
  for (const head of heads) writeFileSync(`${folder}${head.id}.glb`, makeModel(head));
  writeFileSync(`${folder}models.json`, catalog);
}
