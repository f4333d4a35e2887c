import { TcpProxy } from '@parley/mesh/tcp-proxy';
import { createGate, type Gate } from '@parley/testing/gate';

/** Opens a proxy to the object store. It can hold back requests, so that a process that reads a file has to wait. */
export async function objectLine(endpoint: string) {
  let held: Gate | undefined;
  async function* asked(bytes: Buffer): AsyncGenerator<Buffer> {
    await held?.pass();
    yield bytes;
  }
  const url = new URL(endpoint);
  const proxy = await new TcpProxy([url.host], { tap: () => ({ asked }) }).open();
  return {
    /** The URL of the object store through the proxy. */
    url: `http://127.0.0.1:${proxy.port}`,
    /** Holds back all further requests. @returns a function that releases them and ends the hold */
    hold(): () => void {
      const gate = createGate();
      held = gate;
      return () => {
        held = undefined;
        gate.open();
      };
    },
    close: () => proxy.close(),
  };
}
