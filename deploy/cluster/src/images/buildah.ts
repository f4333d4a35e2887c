import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';

export type Buildah = ReturnType<typeof openBuildah>;

export interface BuildahOptions {
  /** The folder of the program `builder`. */
  installed: string;
  /** The folder for images and the state of running builds. */
  folder: string;
  signal: AbortSignal;
}

/** Opens the image builder with its own store. It neither reads nor changes the machine's own images and settings. */
export function openBuildah({ installed, folder, signal }: BuildahOptions) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const store = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
  // The packages are only unpacked, so there is no signature policy in /etc.
  const policy = ['--signature-policy', join(installed, 'policy.json')];
  const run = (command: string, ...args: string[]) => {
    const trusted = ['bud', 'pull', 'push'].includes(command) ? policy : [];
    return exec(join(installed, 'run'), ['buildah', ...store, command, ...trusted, ...args], { signal });
  };
  return {
    run,
    has: (image: string) =>
      run('inspect', '--type', 'image', image).then(
        () => true,
        () => {
          signal.throwIfAborted();
          return false;
        },
      ),
    /** Runs debootstrap, which makes a Debian root file system. */
    debootstrap: (...args: string[]) => exec(join(installed, 'run'), ['debootstrap', ...args], { signal }),
  };
}
