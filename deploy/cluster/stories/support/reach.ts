import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { listen } from '@parley/kernel/http/listen';
import { exec } from '@parley/servers/exec';
import { eventually } from '@parley/testing/eventually';
import type { ExecutionContext } from 'ava';
import { podsRange, servicesRange } from '../../src/addresses.ts';
import type { Kubectl } from '../../src/install/kubectl.ts';

export interface Target {
  name: string;
  /** `host:port`. */
  address: string;
  /** Default: TCP. A UDP target counts as reached if it responds. */
  protocol?: 'udp';
}

/** The timeout is long enough for a busy machine. If a policy drops the packets of a connection, the attempt takes this long. */
const connectTimeoutMs = 5_000;
/** A DNS query for the root's name servers. DNS servers answer it, and so do servers that answer any datagram. */
const datagram = '0000010000010000000000000000020001';

const script = `
const { connect } = require('node:net');
const { createSocket } = require('node:dgram');
const targets = JSON.parse(process.argv[1]);
const tcp = (host, port, end) => {
  const socket = connect({ host, port, timeout: ${connectTimeoutMs} });
  const close = (reached) => { socket.destroy(); end(reached); };
  socket.on('connect', () => close(true)).on('error', () => close(false)).on('timeout', () => close(false));
};
const udp = (host, port, end) => {
  const socket = createSocket('udp4');
  const close = (reached) => { clearTimeout(timer); socket.close(); end(reached); };
  const timer = setTimeout(() => close(false), ${connectTimeoutMs});
  socket.on('message', () => close(true)).on('error', () => close(false));
  socket.connect(port, host, () => socket.send(Buffer.from('${datagram}', 'hex')));
};
const reach = ({ name, address, protocol }) => new Promise((resolve) => {
  const [, host, port] = /^(.*):(\\d+)$/.exec(address);
  (protocol === 'udp' ? udp : tcp)(host, Number(port), (reached) => resolve(reached ? [name] : []));
});
Promise.all(targets.map(reach)).then((all) => console.log(JSON.stringify(all.flat())));`;

/** Returns the sorted names of the targets that can be reached from within a pod. */
export function reachedFrom(kubectl: Kubectl, pod: string, targets: Target[]): Promise<string[]> {
  return reachedBy((args) => kubectl.run(['exec', pod, '--', 'node', ...args]), targets);
}

/** Returns the sorted names of the targets that can be reached. @param run runs Node with these arguments, and returns its stdout */
async function reachedBy(run: (args: string[]) => Promise<string>, targets: Target[]): Promise<string[]> {
  const output = await run(['-e', script, JSON.stringify(targets)]);
  return (JSON.parse(output) as string[]).toSorted();
}

const listener = `
const { createServer } = require('node:net');
const { createSocket } = require('node:dgram');
createServer((socket) => socket.on('error', () => undefined).end()).listen(8080, '::');
const socket = createSocket('udp4');
socket.on('message', (_, { port, address }) => socket.send('answer', port, address)).bind(8081);
setTimeout(() => process.exit(), 600_000);`;

/**
 * Starts servers in a pod until the end of the test.
 * @returns the servers as targets: over TCP, over UDP, and at the link-local IPv6 address that Linux assigns to every link
 */
export async function listenIn(
  t: Pick<ExecutionContext, 'teardown'>,
  { kubectl, name }: { kubectl: Kubectl; name: string },
): Promise<Target[]> {
  const ending = new AbortController();
  const exit = kubectl.run(['exec', name, '--', 'node', '-e', listener], { signal: ending.signal });
  exit.catch(() => undefined); // the process is killed at the end of the test
  t.teardown(() => ending.abort());
  const { status } = await kubectl.get<{ status: { podIP: string } }>('pod', name);
  const mac = await kubectl.run(['exec', name, '--', 'node', '-p', 'os.networkInterfaces().eth0[0].mac']);
  const targets: Target[] = [
    { name: `${name} by TCP`, address: `${status.podIP}:8080` },
    { name: `${name} by UDP`, address: `${status.podIP}:8081`, protocol: 'udp' },
    { name: `${name} by IPv6`, address: `${linkLocal(mac.trim())}%eth0:8080` },
  ];
  await eventually('the servers in the pod listen', async () => (await reachedFrom(kubectl, name, targets)).length > 1);
  return targets;
}

/** Returns the IPv6 address that Linux forms from a MAC address (RFC 4291, appendix A). */
function linkLocal(mac: string): string {
  const [first = 0, ...rest] = mac.split(':').map((byte) => Number.parseInt(byte, 16));
  const bytes = [first ^ 2, ...rest.slice(0, 2), 0xff, 0xfe, ...rest.slice(2)];
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return `fe80::${hex.match(/.{4}/gu)?.join(':')}`;
}

/** Addresses for benchmarks (RFC 2544), which no network of this machine uses. */
const neighbourLink = { name: 'parley-neighb', machine: '198.18.88.1', host: '198.18.88.2' };

/**
 * Starts a host of another network of this machine, with routes to the cluster.
 * @returns `reached`, which returns the names of the targets that the host reaches, and `machine`, a target on this machine outside the
 * cluster
 */
export async function startNeighbour(t: Pick<ExecutionContext, 'teardown'>) {
  const { name, machine, host } = neighbourLink;
  const holder = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--net', 'sleep', 'infinity'], {
    stdio: 'ignore',
  });
  const ended = once(holder, 'exit');
  t.teardown(async () => {
    holder.kill('SIGKILL'); // the host's namespace and its link end with this process
    await ended;
  });
  const pid = String(holder.pid);
  const namespaceOf = (process: string) => readlinkSync(`/proc/${process}/ns/net`);
  await eventually('the host has a network namespace', () => namespaceOf(pid) !== namespaceOf('self'));
  const inside = (...args: string[]) => exec('nsenter', ['--net', '--target', pid, ...args]);
  await exec('ip', ['link', 'add', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', pid]);
  await exec('ip', ['addr', 'add', `${machine}/30`, 'dev', name]);
  await exec('ip', ['link', 'set', name, 'up']);
  await inside('ip', 'addr', 'add', `${host}/30`, 'dev', 'eth0');
  await inside('ip', 'link', 'set', 'eth0', 'up');
  for (const range of [podsRange, servicesRange]) await inside('ip', 'route', 'add', range, 'via', machine);
  const server = createServer((socket) => void socket.on('error', () => undefined).end());
  const address = await listen(server, 0, machine);
  t.teardown(() => server.close());
  return {
    machine: { name: 'this machine', address },
    reached: (targets: Target[]) => reachedBy((args) => inside(process.execPath, ...args), targets),
  };
}
