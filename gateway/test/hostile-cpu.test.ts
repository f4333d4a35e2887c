import test from 'ava';
import { cpuOf, maxCpuMs } from './support/cpu.ts';
import { gatewayMesh } from './support/gateway-mesh.ts';
import { hostileRequests, neverSeen } from './support/hostile.ts';
import { rawPost } from './support/raw-post.ts';

// In a file of its own: what other tests of a process do would count as well.
test('no hostile document or body takes 50 ms of CPU, the first time and any other', async (t) => {
  const { url, identity } = await gatewayMesh(t);
  const authorization = `Bearer ${await identity.signIn('s-1')}`;
  let sent = 0;
  for (const request of hostileRequests) {
    const { name, headers = {}, signedIn } = request;
    const post = (body: string | Buffer) =>
      rawPost(url, { body: [body], headers: { ...headers, ...(signedIn && { authorization }) } });
    for (const [which, bodyOf] of [
      ['the same', () => request.body],
      ['never seen', () => neverSeen(request, ++sent).body],
    ] as const) {
      const bodies = Array.from({ length: 20 }, () => Buffer.from(bodyOf()));
      const ms = await cpuOf(() => post(bodies.pop() ?? ''), { times: 20, enoughMs: maxCpuMs });
      t.true(ms < maxCpuMs, `${name}, ${which}: ${ms} ms`);
    }
  }
});
