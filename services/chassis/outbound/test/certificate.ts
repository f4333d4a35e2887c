import { generateKeyPairSync, sign } from 'node:crypto';

/** The key and the certificate of a server of one name, signed by itself and valid for a day. */
export function certificateFor(host: string): { key: string | Buffer; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = sequence(objectId('2a8648ce3d040302')); // ecdsa-with-SHA256
  const name = sequence(element(0x31, sequence(objectId('550403'), element(0x0c, Buffer.from(host)))));
  const alternativeNames = sequence(element(0x82, Buffer.from(host)));
  const isAuthority = element(0x01, Buffer.from([0xff]));
  const extensions = sequence(
    sequence(objectId('551d11'), element(0x04, alternativeNames)),
    sequence(objectId('551d13'), element(0x04, sequence(isAuthority))),
  );
  const version3 = element(0xa0, integer(2));
  const content = sequence(
    version3,
    integer(1),
    algorithm,
    name,
    sequence(dayFromNow(-1), dayFromNow(1)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    element(0xa3, extensions),
  );
  const signature = element(0x03, Buffer.from([0]), sign('sha256', content, privateKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    cert: pem(sequence(content, algorithm, signature)),
  };
}

/** One of DER: its tag, its length and its content. */
function element(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(content.length);
  const head = content.length < 0x80 ? [tag, content.length] : [tag, 0x82, ...length];
  return Buffer.concat([Buffer.from(head), content]);
}

const sequence = (...parts: Buffer[]) => element(0x30, ...parts);
const objectId = (hex: string) => element(0x06, Buffer.from(hex, 'hex'));
const integer = (value: number) => element(0x02, Buffer.from([value]));

function dayFromNow(days: number): Buffer {
  const iso = new Date(Date.now() + days * 86_400_000).toISOString();
  return element(0x17, Buffer.from(`${iso.slice(2, 19).replaceAll(/\D/gu, '')}Z`));
}

function pem(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}
