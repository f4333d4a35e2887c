import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ExecutionContext } from 'ava';
import { root } from '../root.ts';
import { type Child, startChild } from './child.ts';

/** The mesh's data, and all that it puts into the temporary folder. */
export interface Place {
  dataFolder: string;
  temporaryFolder: string;
}

/** A place for a mesh, removed with the test. `like` is a data folder to begin with. */
export function newPlace(t: ExecutionContext, like?: string): Place {
  const place = makePlace();
  t.teardown(() => removePlace(place));
  if (like) cpSync(like, place.dataFolder, { recursive: true });
  return place;
}

export function makePlace(): Place {
  const folder = mkdtempSync('/tmp/parley-up-'); // short: the path of a socket in it may have 104 bytes
  mkdirSync(join(folder, 'tmp'));
  return { dataFolder: join(folder, 'data'), temporaryFolder: join(folder, 'tmp') };
}

export function removePlace({ temporaryFolder }: Place): void {
  rmSync(dirname(temporaryFolder), { recursive: true, force: true });
}

/** The flags of Node that `scripts/up` gives. */
export const upFlags =
  /^NODE_FLAGS=(.+)$/mu.exec(readFileSync(join(root, 'scripts/up'), 'utf8'))?.[1]?.split(' ') ?? [];

/** `scripts/up` at a place, on any free port. */
export function startMesh(t: ExecutionContext, place: Place, env: Record<string, string> = {}): Child {
  return startChild(t, 'up', {
    flags: upFlags,
    env: {
      PARLEY_DATA_DIR: place.dataFolder,
      TMPDIR: place.temporaryFolder,
      GATEWAY_PORT: '0',
      STORAGE_PORT: '0',
      ...env,
    },
  });
}

/** Waits until it is up and answers the GraphQL endpoint that its banner names. */
export async function whenUp(mesh: Child): Promise<string> {
  await mesh.says(/Stop with Ctrl-C/u);
  const url = /http:\/\/\S+\/graphql/u.exec(mesh.stdout)?.[0];
  if (!url) throw new Error(`The banner names no endpoint:\n${mesh.stdout}`);
  return url;
}
