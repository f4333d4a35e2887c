import test from 'ava';
import { type SysctlState, valuesToRestore } from './sysctls.ts';

const before: SysctlState = { values: { 'net/ipv4/ip_forward': '0', 'kernel/panic': '0' }, links: ['lo', 'eth0'] };
const set = { 'net/ipv4/ip_forward': '1', 'kernel/panic': '10' };

test('values that the cluster has set are restored', (t) => {
  t.deepEqual(valuesToRestore({ before, set }, { ...before, values: set }), before.values);
  t.deepEqual(valuesToRestore({ before, set }, before), {});
});

test('a value that another program has changed since is left', (t) => {
  const now = { ...before, values: { ...set, 'kernel/panic': '60' } };
  t.deepEqual(valuesToRestore({ before, set }, now), { 'net/ipv4/ip_forward': '0' });
});

test('all values are restored after a start that did not complete', (t) => {
  t.deepEqual(valuesToRestore({ before }, { ...before, values: set }), before.values);
});

test('forwarding stays on if there are new network interfaces', (t) => {
  const now = { links: ['lo', 'eth0', 'docker0'], values: set };
  t.deepEqual(valuesToRestore({ before, set }, now), { 'kernel/panic': '0' });
});
