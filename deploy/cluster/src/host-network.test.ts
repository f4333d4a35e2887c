import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import test from 'ava';

const unshare = ['unshare', ...(process.geteuid?.() === 0 ? [] : ['--map-root-user']), '--net', '--mount'];
const command = 'mount -t sysfs sysfs /sys && exec "$@"';

/** Runs a module in a new network namespace, with the functions of `host-network.ts`. @returns the output of the module */
function inOwnNetwork(...program: string[]) {
  const module = `
    import { execFileSync } from 'node:child_process';
    import { readdirSync } from 'node:fs';
    import { hasBridge, makeBridge, removeHostNetwork, standingCluster } from '${join(import.meta.dirname, 'host-network.ts')}';
    const { signal } = new AbortController();
    const ip = (line) => execFileSync('ip', line.split(' '));
    const print = (value) => console.log(JSON.stringify(value) ?? 'undefined');
    ${program.join('\n')}`;
  const [first = '', ...rest] = unshare;
  const args = [...rest, 'sh', '-c', command, 'sh', process.execPath, '--input-type=module', '--eval', module];
  const { stdout, stderr, status } = spawnSync(first, args, { encoding: 'utf8' });
  return { lines: stdout.trim().split('\n'), stderr, status };
}

const networkTest = inOwnNetwork("ip('link add x type bridge')").status === 0 ? test : test.skip;

networkTest('a bridge has an owner as soon as it has its name', (t) => {
  const { lines } = inOwnNetwork(
    "ip('link add parley0-new type bridge'); // a killed process made it",
    "await makeBridge('/checkout/run', signal);",
    'print(standingCluster());',
    "await removeHostNetwork('/no/nft');",
    'print([hasBridge(), readdirSync("/sys/class/net")]);',
  );
  t.deepEqual(lines, ['"/checkout/run"', '[false,["lo"]]']);
});

networkTest('a bridge without an owner belongs to no cluster, and can be removed', (t) => {
  const { lines } = inOwnNetwork(
    "ip('link add parley0 type bridge');",
    'print([standingCluster() ?? null, hasBridge()]);',
    "await removeHostNetwork('/no/nft');",
    'print(hasBridge());',
  );
  t.deepEqual(lines, ['[null,true]', 'false']);
});

networkTest('an owner whose path is too long for an alias leaves no bridge', (t) => {
  const { lines } = inOwnNetwork(
    "print(await makeBridge('/'.padEnd(256, 'x'), signal).catch(({ name }) => name));",
    "await makeBridge('/'.padEnd(255, 'x'), signal);",
    'print(standingCluster().length);',
  );
  t.deepEqual(lines, ['"UnavailableError"', '255']);
});
