/**
 * Run by hand: `LOG_LEVEL=fatal node --expose-gc gateway/test/soak.ts`. Prints the CPU of each hostile request in units of
 * `support/cpu.ts`. Then sends 2,000 mixed hostile requests and prints their effect on memory and latency. Exits with code 1 when a request
 * takes too much CPU.
 */
import { cpuRatioOf, maxCpuRatio } from './support/cpu.ts';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests, longOperation, neverSeen } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

const rounds = 2_000;
const print = (line: string) => process.stdout.write(`${line}\n`);
const ends: (() => unknown)[] = [];
const mesh = await gatewayMesh(
  { teardown: (end) => void ends.push(end) },
  { directives: { [longOperation]: '@longBody' }, resolvers: { agent: { Query: { agentCount: () => 2 } } } },
);
const token = await mesh.identity.signIn('s-1');

async function latency(): Promise<{ p50: number; p99: number }> {
  const took: number[] = [];
  for (let i = 0; i < 500; i++) {
    const started = performance.now();
    await mesh.ask('{ agentCount }', { token });
    took.push(performance.now() - started);
  }
  took.sort((a, b) => a - b);
  return { p50: took[250] ?? 0, p99: took[495] ?? 0 };
}

function heapMb(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1e6;
}

const show = (value: number) => value.toFixed(1).padStart(7);
let sent = 0;
/** Sends a request with a document that the gateway has not seen, because the gateway caches valid documents. */
const send = (request: (typeof hostileRequests)[number]) => {
  const { body, headers = {}, signedIn } = neverSeen(request, ++sent);
  return rawPost(mesh.url, {
    body: [body],
    headers: { ...headers, ...(signedIn && { authorization: `Bearer ${token}` }) },
  });
};

await latency();
const ordinary = await cpuRatioOf(
  () => token,
  () => mesh.ask('{ agentCount }', { token }),
);
print(`an ordinary query: ${show(ordinary)} times the yardstick`);
const costs: { name: string; status: number; ratio: number }[] = [];
for (const request of hostileRequests) {
  const { status } = await send(request);
  costs.push({ name: request.name, status, ratio: await cpuRatioOf(() => request, send, { again: 10 }) });
}
costs.sort((a, b) => b.ratio - a.ratio);
for (const { name, status, ratio } of costs) print(`${show(ratio)}  ${status}  ${name}`);
const tooCostly = costs.filter(({ ratio }) => ratio >= maxCpuRatio).length;
print(`${costs.length} hostile requests, each sent ten times: ${tooCostly} take ${maxCpuRatio} yardsticks or more`);
if (tooCostly > 0) process.exitCode = 1;

const before = { heap: heapMb(), ...(await latency()) };
const statuses = new Map<number, number>();
for (let i = 0; i < rounds; i += 10) {
  const batch = Array.from({ length: 10 }, (_, j) => hostileRequests.slice((i + j * 7) % hostileRequests.length)[0]);
  const answers = await Promise.all(batch.flatMap((request) => (request ? [send(request)] : [])));
  for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
}
const after = { heap: heapMb(), ...(await latency()) };
print(`${rounds} mixed, by status: ${JSON.stringify(Object.fromEntries(statuses))}`);
for (const [when, { heap, p50, p99 }] of Object.entries({ before, after })) {
  print(`${when.padEnd(7)} heap ${show(heap)} MB   p50 ${show(p50)} ms   p99 ${show(p99)} ms`);
}
for (const end of ends) await end();
