import test from 'ava';
import { type Hierarchy, missingControllers, parseHierarchies } from './cgroups.ts';

const mountinfo = `25 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 25 0:26 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
31 25 0:27 / /sys/fs/cgroup/cpu,cpuset rw - cgroup cgroup rw,cpuset,cpuacct
32 25 0:28 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;

test('hierarchies are found with their controllers', (t) => {
  t.deepEqual(parseHierarchies(mountinfo), [
    { folder: '/sys/fs/cgroup/cpu', version: 1, controllers: ['rw', 'cpu'] },
    { folder: '/sys/fs/cgroup/cpu,cpuset', version: 1, controllers: ['rw', 'cpuset', 'cpuacct'] },
    { folder: '/sys/fs/cgroup/unified', version: 2, controllers: [] },
  ]);
});

test('controllers of version 2 alone are missing', (t) => {
  const controllers = ['cpu', 'cpuset', 'memory', 'pids'];
  const unified: Hierarchy = { folder: '/sys/fs/cgroup', version: 2, controllers };
  t.deepEqual(missingControllers([unified]), controllers);
  t.deepEqual(missingControllers([unified, { folder: '/v1', version: 1, controllers }]), []);
});

test('controllers that no hierarchy has are missing', (t) => {
  t.deepEqual(missingControllers(parseHierarchies(mountinfo)), ['memory', 'pids']);
});
