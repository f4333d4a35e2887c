import test from 'ava';
import { differences } from './traces.ts';

test('what has come and what has gone are named with their kind', (t) => {
  const before = { links: ['lo', 'eth0'], sysctls: ['/proc/sys/net/ipv4/ip_forward 0'] };
  const after = { links: ['lo', 'eth0', 'parley0'], sysctls: ['/proc/sys/net/ipv4/ip_forward 1'], mounts: ['/ /var'] };
  t.deepEqual(differences(before, after), [
    '+ links: parley0',
    '+ sysctls: /proc/sys/net/ipv4/ip_forward 1',
    '- sysctls: /proc/sys/net/ipv4/ip_forward 0',
    '+ mounts: / /var',
  ]);
  t.deepEqual(differences(before, { ...before, links: ['eth0', 'lo'] }), []);
});
