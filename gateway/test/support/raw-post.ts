import { type IncomingHttpHeaders, request } from 'node:http';

export interface RawAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

export interface RawPost {
  /** The local address to send from. */
  from?: string;
  headers?: Record<string, string>;
  body: (string | Buffer)[];
  /** Whether the body ends; otherwise the request stays open. Default: true. */
  ends?: boolean;
}

/** Sends a POST on its own connection, with features that fetch lacks, such as a body that does not end. */
export function rawPost(url: string, { from, headers = {}, body, ends = true }: RawPost): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      agent: false,
      ...(from && { localAddress: from }),
      headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', ...headers },
    });
    outgoing.once('error', reject);
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        outgoing.destroy();
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        });
      });
    });
    for (const piece of body) outgoing.write(piece);
    if (ends) outgoing.end();
  });
}
