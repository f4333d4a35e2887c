import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime, { type Email } from 'postal-mime';

/** Reads the mail to an address from the outbox in a data folder, where a mesh without a mail server writes its mail. */
export async function mailTo(dataFolder: string, address: string): Promise<Email[]> {
  const folder = join(dataFolder, 'outbox');
  if (!existsSync(folder)) return [];
  const names = (await readdir(folder)).filter((name) => /^[^.].*\.eml$/u.test(name));
  const mails = await Promise.all(names.map((name) => readFile(join(folder, name))));
  return Promise.all(mails.filter((mail) => mail.includes(`To: ${address}`)).map((mail) => PostalMime.parse(mail)));
}
