import test from 'ava';
import { type Machine, missingOn } from './requirements.ts';

const able: Machine = {
  platform: 'linux',
  uid: 0,
  capabilities: 0x1ff_feff_ffffn,
  filesystems: 'nodev\tsysfs\n\text4\nnodev\toverlay\n',
  missingControllers: [],
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
    filesystems: '\text4\n',
    missingControllers: ['pids'],
    has: (program) => !['ip', 'apt-get'].includes(program),
    goVersion: 'go version go1.19.8 linux/amd64',
    addresses: [{ interface: 'cni-podman0', address: '10.88.0.1' }],
  });
  t.deepEqual(lacks, [
    'root: networks, mounts and cgroups are made',
    'the file system overlay: modprobe overlay',
    'the cgroup controllers pids',
    'the programs ip (packages util-linux, iproute2, openssl)',
    'apt-get and dpkg, to get containerd',
    'Go 1.25 or newer, to build Kubernetes; there is go version go1.19.8 linux/amd64',
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
