import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';

export interface Access {
  /** The certificate of the authority that signs the server's certificate. Without this value, the server's certificate is not verified. */
  authority?: string;
  token?: string;
  /** A client certificate with its key. */
  client?: { cert: string; key: string };
}

/** Sends a GET request and returns the body. @throws Error if no response with status 200 arrives within two seconds */
export function get(url: string, { authority, token, client }: Access = {}): Promise<string> {
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const tls = { ...(authority ? { ca: authority } : { rejectUnauthorized: false }), ...client };
  const options = { headers, agent: false, signal: AbortSignal.timeout(2_000) } as const;
  return new Promise((resolve, reject) => {
    const request = url.startsWith('https:') ? httpsRequest(url, { ...options, ...tls }) : httpRequest(url, options);
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('error', reject).on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`it answers ${response.statusCode}: ${text.slice(0, 300)}`));
      });
    });
    request.end();
  });
}
