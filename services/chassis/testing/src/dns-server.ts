import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv4 } from 'node:net';

export interface DnsQuestion {
  /** The name in lower case, without the final dot. */
  name: string;
  type: 'A' | 'AAAA';
  /** Number of earlier queries for this name and type. */
  earlier: number;
}

export interface DnsAnswer {
  /** Addresses of any family, so that a test can return those of the wrong family. */
  addresses?: string[];
  /** Aliases (CNAME) between the queried name and the name that has the addresses. */
  aliases?: string[];
  /** The response code: 2 is SERVFAIL, 3 NXDOMAIN. Default 0. */
  code?: number;
  /** Sets the truncation flag, so that the client retries over TCP, where no server listens. */
  truncated?: boolean;
}

/** A DNS server over UDP with scripted responses; `undefined` means no response. */
export async function startDnsServer(answer: (question: DnsQuestion) => DnsAnswer | undefined) {
  const counts = new Map<string, number>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const { name, end } = readName(query, 12);
    const type = query.readUInt16BE(end) === 28 ? 'AAAA' : 'A';
    const key = `${type} ${name}`;
    const earlier = counts.get(key) ?? 0;
    counts.set(key, earlier + 1);
    const given = answer({ name, type, earlier });
    if (given) socket.send(message(query, end + 4, name, given), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    asked: (name: string, type: 'A' | 'AAAA'): number => counts.get(`${type} ${name}`) ?? 0,
    async stop(): Promise<void> {
      const closed = once(socket, 'close');
      socket.close();
      await closed;
    },
  };
}

function message(query: Buffer, questionEnd: number, name: string, answer: DnsAnswer): Buffer {
  const { addresses = [], aliases = [], code = 0, truncated = false } = answer;
  const names = [name, ...aliases];
  const records = [
    ...aliases.map((alias, index) => record(names[index] ?? '', 5, nameBytes(alias))),
    ...addresses.map((address) => record(names.at(-1) ?? '', isIPv4(address) ? 1 : 28, addressBytes(address))),
  ];
  const head = Buffer.from(query.subarray(0, 12));
  head.writeUInt16BE(0x8180 | (truncated ? 0x0200 : 0) | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(records.length, 6);
  head.writeUInt32BE(0, 8);
  return Buffer.concat([head, query.subarray(12, questionEnd), ...records]);
}

function record(name: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([nameBytes(name), fixed, data]);
}

/** @param address IPv4, or IPv6 without an IPv4 address at its end */
function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  const [before = '', after] = address.split('::');
  const groups = (text = '') => text.split(':').filter(Boolean);
  const [first, last] = [groups(before), groups(after)];
  const all = [...first, ...Array<string>(8 - first.length - last.length).fill('0'), ...last];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

function nameBytes(name: string): Buffer {
  const labels = name.split('.').filter(Boolean);
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.of(0)]);
}

function readName(query: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let at = start;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), end: at + 1 };
}
