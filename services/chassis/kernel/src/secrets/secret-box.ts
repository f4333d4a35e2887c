import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { ringEntries } from './key-ring.ts';

export type SecretBox = ReturnType<typeof createSecretBox>;

/**
 * `SECRETS_KEYS`: keys of at least 32 bytes in base64, separated by commas, each optionally with a name (`k2:…,k1:…`). New secrets are
 * sealed with the first key, and the units reseal secrets that are sealed with other keys. To rotate, first add the new key at the end, so
 * that all processes can open what it seals; then put it first; finally remove the old key (deploy/README.md, "Replace a key"). The names
 * are for people: a key is identified by its hash.
 */
export const secretKeys = ringEntries.transform((entries) => entries.map(({ key }) => key));

const version = 1;
const keyIdLength = 4;
const nonceLength = 12;
/** The tag length is explicit, because `node:crypto` also accepts shorter tags. */
const authTagLength = 16;
const prefixLength = 1 + keyIdLength;
const headLength = prefixLength + nonceLength + authTagLength;

/**
 * Encrypts secrets at rest with AES-256-GCM and the first key of the ring; decrypts them with the key that sealed them. A sealed secret
 * starts with version, key id, nonce and tag.
 */
export function createSecretBox(keys: Uint8Array[]) {
  const ring = keys.map((key) => ({
    id: createHash('sha256').update('parley key id').update(key).digest().subarray(0, keyIdLength),
    key: Buffer.from(hkdfSync('sha256', key, '', 'parley secret box', 32)),
  }));
  const [first] = ring;
  if (!first) throw new Error('SECRETS_KEYS holds no key');

  const prefix = Buffer.concat([Buffer.of(version), first.id]);

  return {
    /** The prefix of all secrets that are sealed with the first key, and of no others. */
    prefix,

    /** Whether the ring has keys besides the first one. */
    hasOldKeys: ring.length > 1,

    /** Reports whether these bytes are sealed with the first key. */
    isCurrent: (sealed: Uint8Array): boolean => prefix.equals(sealed.subarray(0, prefixLength)),

    /**
     * Encrypts `plain` for one place, e.g. `identity.users.id_no:42`; a copy at another place cannot be opened. The result differs for each
     * call.
     */
    seal(plain: string | Uint8Array, place: string): Buffer {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv('aes-256-gcm', first.key, nonce, { authTagLength });
      cipher.setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(plain), cipher.final()]);
      return Buffer.concat([prefix, nonce, cipher.getAuthTag(), sealed]);
    },

    /** Reports whether the ring has the key that sealed these bytes. The first five bytes are enough. */
    hasKeyOf(sealed: Uint8Array): boolean {
      const id = sealed.subarray(1, prefixLength);
      return sealed[0] === version && ring.some((entry) => entry.id.equals(id));
    },

    /**
     * Decrypts a sealed secret.
     * @throws Error when its key is not in the ring, the place is not the one given to `seal`, or the bytes have changed.
     */
    open(sealed: Uint8Array, place: string): Buffer {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength);
      if (bytes.length < headLength || bytes[0] !== version) throw new Error(`${place} holds no sealed secret`);
      const id = bytes.subarray(1, prefixLength);
      const known = ring.find((entry) => entry.id.equals(id));
      if (!known) throw new Error(`${place} is sealed under a key that SECRETS_KEYS does not hold`);
      const nonce = bytes.subarray(prefixLength, prefixLength + nonceLength);
      const decipher = createDecipheriv('aes-256-gcm', known.key, nonce, { authTagLength });
      decipher.setAAD(Buffer.from(place));
      decipher.setAuthTag(bytes.subarray(headLength - authTagLength, headLength));
      return Buffer.concat([decipher.update(bytes.subarray(headLength)), decipher.final()]);
    },
  };
}
