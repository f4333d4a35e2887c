import { crc32, deflateRawSync } from 'node:zlib';

/** An archive entry. Its header may contain false values. */
export interface ZipEntry {
  name: string;
  content: Buffer | string;
  /** Default true. */
  deflated?: boolean;
  /** Uncompressed size for the entry's header, which may be false. Default: the true size. */
  declaredSize?: number;
  /** Compressed size for the entry's header, which may be false. Default: the true size. */
  declaredCompressedSize?: number;
  flags?: number;
  /** The name of an earlier entry whose data this entry shares, so that the two entries overlap. */
  dataOf?: string;
}

/** Builds an archive byte by byte, so that it can be malformed. */
export function makeZip(entries: ZipEntry[], { comment = '' } = {}): Buffer {
  const offsets = new Map<string, number>();
  const local: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const { name, deflated = true, flags = 0x800, dataOf } = entry;
    const content = Buffer.from(entry.content);
    const data = deflated ? deflateRawSync(content) : content;
    const header = Buffer.alloc(26);
    header.writeUInt16LE(20, 0);
    header.writeUInt16LE(flags, 2);
    header.writeUInt16LE(deflated ? 8 : 0, 4);
    header.writeUInt32LE(crc32(content), 10);
    header.writeUInt32LE(entry.declaredCompressedSize ?? data.length, 14);
    header.writeUInt32LE(entry.declaredSize ?? content.length, 18);
    header.writeUInt16LE(Buffer.byteLength(name), 22);
    const shared = dataOf === undefined ? undefined : offsets.get(dataOf);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(shared ?? offset, 10);
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), header, rest, Buffer.from(name));
    if (shared !== undefined) continue;
    offsets.set(name, offset);
    const written = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), header, Buffer.from(name), data]);
    local.push(written);
    offset += written.length;
  }
  const listed = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(entries.length, 4);
  end.writeUInt16LE(entries.length, 6);
  end.writeUInt32LE(listed.length, 8);
  end.writeUInt32LE(offset, 12);
  end.writeUInt16LE(comment.length, 16);
  return Buffer.concat([...local, listed, Buffer.from('PK\x05\x06', 'latin1'), end, Buffer.from(comment)]);
}
