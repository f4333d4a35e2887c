import { chmodSync, cpSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { exec } from '@parley/servers/exec';
import { emptyFolder } from '@parley/servers/testing/folder';
import test, { type ExecutionContext } from 'ava';
import { openBuildah } from './buildah.ts';

/** Writes an executable shell script. */
function script(path: string, text: string): void {
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
}

function open(t: ExecutionContext, run: string) {
  const [installed, folder] = [emptyFolder(t), emptyFolder(t)];
  script(join(installed, 'run'), run);
  return { installed, folder, buildah: openBuildah({ installed, folder, signal: AbortSignal.timeout(60_000) }) };
}

test('builds keep their temporary files in a folder that only their owner can read', async (t) => {
  const { folder, buildah } = open(t, 'echo "$TMPDIR"');
  const temporary = (await buildah.run('bud')).trim();
  t.true(temporary.startsWith(folder), temporary);
  t.is(statSync(temporary).mode & 0o777, 0o700);
});

test("packages that Debian's keys have not signed are refused", async (t) => {
  const { installed, buildah } = open(t, 'echo "$@"');
  const said = (await buildah.debootstrap('--variant=minbase', 'bookworm')).trim();
  const keyring = join(installed, 'usr/share/keyrings/debian-archive-keyring.gpg');
  t.is(said, `debootstrap --force-check-gpg --keyring=${keyring} --variant=minbase bookworm`);
});

test("the builder mounts nothing in the caller's namespace, whatever variables the caller has", async (t) => {
  const [installed, commands] = [emptyFolder(t), join(emptyFolder(t), 'bin')];
  cpSync(join(import.meta.dirname, '../../programs/builder/run'), join(installed, 'run'));
  mkdirSync(commands);
  script(join(commands, 'unshare'), 'echo "unshare $1"');
  script(join(commands, 'mount'), 'echo "mount in the namespace of the caller"');
  const env = { PATH: `${commands}:${process.env.PATH}`, BUILDER_NAMESPACE: '1' };
  t.is(await exec(join(installed, 'run'), ['true'], { env }), 'unshare --mount\n');
});
