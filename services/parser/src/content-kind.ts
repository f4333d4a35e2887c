import { isUtf8 } from 'node:buffer';
import type { FileType } from './file-types.ts';

/** The type of a file, detected from its content rather than its name. */
export type ContentKind = FileType | 'pptx' | 'zip' | 'oldOffice' | 'image' | 'text' | 'binary';

const images = ['89504e470d0a1a0a', 'ffd8ff', '474946383761', '474946383961', '49492a00', '4d4d002a'];
const archives = ['504b0304', '504b0506', '504b0708'];
const otherBinaries = ['1f8b', '377abcaf271c', '526172211a07', '7f454c46', '425a68'];
const compoundFile = 'd0cf11e0a1b11ae1';

/**
 * Number of bytes in which a PDF's marks are searched: its header in the first bytes of the file, and its end mark in the last bytes. A PDF
 * may be surrounded by other bytes.
 */
const pdfMarkWithin = 1_024;

/**
 * Detects the type of a file. The declared type decides if the content is both text and possibly a PDF: all bytes of a PDF can be text, and
 * a text can quote PDF syntax. `archiveKindOf` distinguishes archives later, by their parts.
 */
export function contentKindOf(bytes: Buffer, declared: FileType): ContentKind {
  const start = bytes.toString('hex', 0, 8);
  const startsWith = (magic: string) => start.startsWith(magic);
  if (archives.some(startsWith)) return 'zip';
  if (startsWith(compoundFile)) return 'oldOffice';
  const pdfHeader = bytes.subarray(0, pdfMarkWithin).indexOf('%PDF-');
  if (isText(bytes)) {
    // A PDF header is not enough, because a text about file formats may begin with one.
    const isPdf = declared === 'pdf' ? pdfHeader >= 0 : pdfHeader === 0 && hasPdfEnd(bytes);
    return isPdf ? 'pdf' : 'text';
  }
  if (images.some(startsWith)) return 'image';
  if (pdfHeader >= 0) return 'pdf';
  if (otherBinaries.some(startsWith)) return 'binary';
  return 'text';
}

function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0);
}

function hasPdfEnd(bytes: Buffer): boolean {
  return bytes.subarray(-pdfMarkWithin).includes('%%EOF');
}

export function archiveKindOf(names: ReadonlySet<string>): ContentKind {
  if ([...names].some((name) => /^xl\/workbook\d*\.xml$/u.test(name))) return 'xlsx';
  if (names.has('ppt/presentation.xml')) return 'pptx';
  if ([...names].some((name) => /^word\/document\d*\.xml$/u.test(name))) return 'docx';
  return 'zip';
}

/** Reports whether a compound file is an encrypted Office document: it then has a stream named `EncryptedPackage`, in UTF-16. */
export function isEncryptedOffice(bytes: Buffer): boolean {
  return bytes.includes(Buffer.from('EncryptedPackage', 'utf16le'));
}
