import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from '@parley/chassis/testing/eventually';
import { freePorts } from '@parley/servers/ports';
import { toolPath } from '@parley/servers/tools';

/** What is done to the bytes of a line, as Toxiproxy names it and its attributes. */
export interface Toxic {
  type: 'latency' | 'bandwidth' | 'timeout' | 'reset_peer' | 'limit_data' | 'slow_close' | 'slicer';
  /** `downstream`: what the server answers. `upstream`: what the client says. Default `downstream`. */
  stream?: 'upstream' | 'downstream';
  /** The share of connections that it meets. Default 1. */
  toxicity?: number;
  /** `latency` and `jitter` in ms, `rate` in KB/s, `timeout` in ms, `bytes`. */
  attributes: Record<string, number>;
}

/** One line to one server, which does what it is told to the bytes that pass. */
export interface Line {
  /** Where clients connect instead: `host:port`. */
  address: string;
  /** From now on, on connections that are there as well. */
  add(toxic: Toxic): Promise<void>;
  /** Without any toxic from now on. */
  clear(): Promise<void>;
  /** Ends all connections and refuses new ones. */
  cut(): Promise<void>;
  /** Takes connections again. */
  restore(): Promise<void>;
}

export interface Toxiproxy {
  /** @param upstream `host:port`; it need not be there yet. */
  line(upstream: string): Promise<Line>;
  stop(): Promise<void>;
}

const host = '127.0.0.1';

/**
 * Starts a Toxiproxy of one's own, installed where it is missing. It ends with the thread that started it.
 * @throws UnavailableError where this machine cannot have it.
 */
export async function startToxiproxy({ say = (_line: string) => {} } = {}): Promise<Toxiproxy> {
  const signal = new AbortController().signal;
  const program = await toolPath('toxiproxy', { env: process.env, signal, say });
  const [port] = await freePorts(1);
  const args = ['--pdeathsig', 'KILL', program, '-host', host, '-port', String(port)];
  const child = spawn('setpriv', args, { stdio: 'ignore' });
  const ended = once(child, 'exit');
  const failed = ended.then(() => Promise.reject(new Error('Toxiproxy has ended')));
  failed.catch(() => undefined);

  async function call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(`http://${host}:${port}${path}`, {
      method,
      ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`Toxiproxy refused ${method} ${path}: ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  async function stop(): Promise<void> {
    child.kill('SIGKILL');
    await ended;
  }

  const isUp = () =>
    call('GET', '/proxies').then(
      () => true,
      () => false,
    );
  try {
    await Promise.race([eventually('Toxiproxy answers', isUp), failed]);
  } catch (error) {
    await stop();
    throw error;
  }

  let lines = 0;
  return {
    async line(upstream) {
      const name = `line-${++lines}`;
      const [listenPort] = await freePorts(1);
      const address = `${host}:${listenPort}`;
      const path = `/proxies/${name}`;
      await call('POST', '/proxies', { name, listen: address, upstream, enabled: true });
      let toxics: string[] = [];
      return {
        address,
        async add({ type, stream = 'downstream', toxicity = 1, attributes }) {
          const toxic = `${type}-${toxics.length}`;
          await call('POST', `${path}/toxics`, { name: toxic, type, stream, toxicity, attributes });
          toxics.push(toxic);
        },
        async clear() {
          const gone = toxics;
          toxics = [];
          for (const toxic of gone) await call('DELETE', `${path}/toxics/${toxic}`);
        },
        cut: async () => void (await call('POST', path, { enabled: false })),
        restore: async () => void (await call('POST', path, { enabled: true })),
      };
    },
    stop,
  };
}
