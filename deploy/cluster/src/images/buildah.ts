import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';

export type Buildah = ReturnType<typeof openBuildah>;

export interface BuildahOptions {
  /** The folder of the program `builder`. */
  installed: string;
  /** Where images and the state of running builds are. */
  folder: string;
  signal: AbortSignal;
}

/** The image builder, with a store of its own: the machine's images and settings are neither read nor changed. */
export function openBuildah({ installed, folder, signal }: BuildahOptions) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const store = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
  // Packages that are unpacked, and not installed, leave no policy in /etc.
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
    /** Its other program, which makes the root of a Debian. */
    debootstrap: (...args: string[]) => exec(join(installed, 'run'), ['debootstrap', ...args], { signal }),
  };
}
