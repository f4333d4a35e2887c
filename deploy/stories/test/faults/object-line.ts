import { TcpProxy } from '@parley/mesh/tcp-proxy';
import { createGate, type Gate } from '@parley/testing/gate';

/** Opens a line to the object store on which requests can be held back, so that whoever reads a file waits for it. */
export async function objectLine(endpoint: string) {
  let held: Gate | undefined;
  async function* asked(bytes: Buffer): AsyncGenerator<Buffer> {
    await held?.pass();
    yield bytes;
  }
  const url = new URL(endpoint);
  const proxy = await new TcpProxy([url.host], { tap: () => ({ asked }) }).open();
  return {
    /** The store's endpoint by way of this line. */
    url: `http://127.0.0.1:${proxy.port}`,
    /** Holds back all requests from now on. The result lets them pass, and all later ones. */
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
