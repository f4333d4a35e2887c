import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';

const debianKeys = 'usr/share/keyrings/debian-archive-keyring.gpg';

export type Buildah = ReturnType<typeof openBuildah>;

export interface BuildahOptions {
  /** The folder of the program `builder`. */
  installed: string;
  /** The folder for images and the state of running builds. */
  folder: string;
  signal: AbortSignal;
}

/** Opens the image builder with its own store. The builder neither reads nor changes the machine's other images and settings. */
export function openBuildah({ installed, folder, signal }: BuildahOptions) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const store = ['--root', join(folder, 'store'), '--runroot', join(folder, 'run')];
  // The builder's packages are only unpacked, not installed, so there is no signature policy in /etc.
  const policy = ['--signature-policy', join(installed, 'policy.json')];
  // The folder for buildah's caches. By default, buildah writes them to /var/tmp, where every user can read them.
  const temporary = join(folder, 'tmp');
  mkdirSync(temporary, { recursive: true, mode: 0o700 });
  const env = { ...process.env, TMPDIR: temporary };
  const run = (command: string, ...args: string[]) => {
    const trusted = ['bud', 'pull', 'push'].includes(command) ? policy : [];
    return exec(join(installed, 'run'), ['buildah', ...store, command, ...trusted, ...args], { signal, env });
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
    /** Runs debootstrap, which makes a Debian root file system. It fails if Debian has not signed the packages. */
    debootstrap: (...args: string[]) => {
      const checked = ['--force-check-gpg', `--keyring=${join(installed, debianKeys)}`];
      return exec(join(installed, 'run'), ['debootstrap', ...checked, ...args], { signal });
    },
  };
}
