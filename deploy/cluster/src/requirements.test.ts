import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from '@parley/servers/testing/folder';
import test from 'ava';
import { lookAtMachine, type Machine, missingOn } from './requirements.ts';

const able: Machine = {
  platform: 'linux',
  uid: 0,
  capabilities: 0x1ff_feff_ffffn,
  missingControllers: [],
  failures: [],
  has: () => true,
  goVersion: 'go version go1.26.8 linux/amd64',
  builds: true,
  unpacks: true,
  addresses: [{ interface: 'eth0', address: '192.0.2.2' }],
};

test('a machine with everything lacks nothing', (t) => {
  t.deepEqual(missingOn(able), []);
});

test('everything that a machine lacks is named at once', (t) => {
  const lacks = missingOn({
    ...able,
    uid: 1000,
    missingControllers: ['pids'],
    failures: ['mounts of overlay: mount: /var: wrong fs type'],
    has: (program) => !['ip', 'apt-get'].includes(program),
    goVersion: 'go version go1.19.8 linux/amd64',
    addresses: [{ interface: 'cni-podman0', address: '10.88.0.1' }],
  });
  t.deepEqual(lacks, [
    'root: networks, mounts and cgroups are made',
    'version 1 of the cgroup controllers pids: on the kernel command line, systemd.unified_cgroup_hierarchy=0',
    'the programs ip (packages util-linux, iproute2, openssl)',
    'apt-get and dpkg, to get containerd',
    'Go 1.25 or newer, to build Kubernetes; there is go version go1.19.8 linux/amd64',
    'mounts of overlay: mount: /var: wrong fs type',
    'the addresses 10.88.0.0/16 and 10.96.0.0/16: cni-podman0 has 10.88.0.1',
  ]);
});

test('root in a container without capabilities lacks them', (t) => {
  t.deepEqual(
    missingOn({ ...able, capabilities: 0n }).map((each) => each.split(':')[0]),
    ['CAP_NET_ADMIN', 'CAP_SYS_ADMIN'],
  );
});

test('neither Go nor apt-get is needed once everything is installed', (t) => {
  const has = (program: string) => program !== 'apt-get' && program !== 'go';
  t.deepEqual(missingOn({ ...able, has, goVersion: undefined, builds: false, unpacks: false }), []);
});

test('another system lacks Linux, and nothing else is looked for', (t) => {
  t.is(missingOn({ ...able, platform: 'darwin', uid: 501 }).length, 1);
});

test.serial('a look at the machine that fails is one of the things that it lacks', async (t) => {
  const folder = emptyFolder(t);
  writeFileSync(join(folder, 'ip'), '#!/bin/sh\necho "ip: invalid argument" >&2\nexit 1\n', { mode: 0o755 });
  const path = process.env.PATH;
  process.env.PATH = `${folder}:${path}`;
  t.teardown(() => {
    process.env.PATH = path;
  });
  const machine = await lookAtMachine({ tools: folder, state: join(folder, 'run') });
  const expected = process.platform === 'linux' ? ['ip of the package iproute2: ip: invalid argument'] : [];
  t.deepEqual(
    machine.failures.filter((each) => each.startsWith('ip')),
    expected,
  );
});
