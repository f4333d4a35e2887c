import type { Kubectl } from '../../src/install/kubectl.ts';

/** Long enough for a busy machine; what a policy drops takes as long. */
const connectTimeoutMs = 5_000;

const script = `
const { connect } = require('node:net');
const targets = JSON.parse(process.argv[1]);
const reach = ({ name, address }) => new Promise((resolve) => {
  const [host, port] = address.split(':');
  const socket = connect({ host, port: Number(port), timeout: ${connectTimeoutMs} });
  const end = (reached) => { socket.destroy(); resolve(reached ? [name] : []); };
  socket.on('connect', () => end(true)).on('error', () => end(false)).on('timeout', () => end(false));
});
Promise.all(targets.map(reach)).then((all) => console.log(JSON.stringify(all.flat())));`;

/** The names of those that accept a connection from within a pod, sorted. */
export async function reachedFrom(
  kubectl: Kubectl,
  pod: string,
  targets: { name: string; address: string }[],
): Promise<string[]> {
  const output = await kubectl.run(['exec', pod, '--', 'node', '-e', script, JSON.stringify(targets)]);
  return (JSON.parse(output) as string[]).toSorted();
}
