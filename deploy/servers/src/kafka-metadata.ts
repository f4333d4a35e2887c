import { connect } from 'node:net';

export interface ClusterMetadata {
  clusterId: string;
  /** How many brokers have joined. */
  brokers: number;
}

const answerTimeoutMs = 2_000;

/** Key 3 (Metadata) in version 2, correlation id 1, no client id, an empty list of topics. */
const request = Buffer.from([0, 0, 0, 14, 0, 3, 0, 2, 0, 0, 0, 1, 0xff, 0xff, 0, 0, 0, 0]);

/** Asks a broker who is in its cluster: one request and its answer, where a client library would keep a connection. */
export async function askMetadata(port: number): Promise<ClusterMetadata> {
  const socket = connect({ host: '127.0.0.1', port, timeout: answerTimeoutMs });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  let received: Buffer = Buffer.alloc(0);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    if (received.length >= 4 && received.length >= 4 + received.readInt32BE()) resolve(received.subarray(4));
  });
  socket.on('timeout', () => reject(new Error('it does not answer'))).on('error', reject);
  socket.on('close', () => reject(new Error('it hung up')));
  socket.write(request);
  try {
    return readMetadata(await promise);
  } finally {
    socket.destroy();
  }
}

/** Correlation id, brokers (id, host, port, rack), cluster id, and more that is not read. */
export function readMetadata(answer: Buffer): ClusterMetadata {
  let at = 4;
  const int32 = () => answer.readInt32BE((at += 4) - 4);
  const string = () => {
    const length = Math.max(0, answer.readInt16BE((at += 2) - 2)); // -1: none
    return answer.toString('utf8', at, (at += length));
  };
  const brokers = int32();
  for (let index = 0; index < brokers; index += 1) {
    int32();
    string();
    int32();
    string();
  }
  return { clusterId: string(), brokers };
}
