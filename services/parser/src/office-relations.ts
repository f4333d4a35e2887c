import { posix } from 'node:path';
import type { OfficeArchive } from './office-archive.ts';
import { readXml } from './office-xml.ts';

/** The targets of a part's relationships, by the id of the relationship. */
export type Targets = Map<string, { type: string; part: string }>;

export function partOf(targets: Targets, wanted: string): string | undefined {
  return [...targets.values()].find(({ type }) => type === wanted)?.part;
}

/** Reads the relationships of the part `source`; the relationships of the whole package if `source` is ''. */
export async function readTargets(archive: OfficeArchive, source: string): Promise<Targets> {
  const targets: Targets = new Map();
  const folder = posix.dirname(`/${source}`);
  const relations = posix.join(folder, '_rels', `${posix.basename(source)}.rels`).slice(1);
  if (!archive.has(relations)) return targets;
  await readXml(archive.part(relations), {
    open(name, { Id = '', Type = '', Target = '', TargetMode }) {
      if (name !== 'Relationship' || TargetMode === 'External') return;
      const part = partNames(folder, Target).find(archive.has);
      if (part !== undefined) targets.set(Id, { type: posix.basename(Type), part });
    },
  });
  return targets;
}

/**
 * Returns the part names that a relationship's target may mean. Some programs write backslashes in paths, or percent-encode names in
 * relationships but not in the archive.
 */
function partNames(folder: string, target: string): string[] {
  const path = target.replaceAll('\\', '/');
  const paths = /%[\da-f]{2}/iu.test(path) ? [path, decoded(path)] : [path];
  return paths.map((each) => posix.resolve(folder, each).slice(1));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
