import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { foldersOf } from '@parley/servers/folders';
import { type Browser, chromium } from 'playwright-core';

const packageFile = join(dirname(createRequire(import.meta.url).resolve('@sparticuz/chromium')), '../package.json');

/**
 * Whether tests with a browser run. The package's Chromium runs only on Linux on x64. On other machines, the tests are skipped; under CI,
 * they run and fail.
 */
export const hasBrowser = (process.platform === 'linux' && process.arch === 'x64') || Boolean(process.env['CI']);

/**
 * Opens Chromium from the npm package. The caller must close the browser at the end of the tests.
 * @throws Error if this machine cannot run Chromium
 */
export async function openBrowser(): Promise<Browser> {
  const folder = await unpacked();
  // Omits the package's own arguments, which run all pages in one process and turn off the same-origin policy.
  const options = {
    executablePath: join(folder, 'chromium'),
    args: ['--no-sandbox', ...microphone],
  };
  try {
    return await chromium.launch(options);
  } catch (error) {
    if (!String(error).includes('shared librar')) throw error;
    const LD_LIBRARY_PATH = join(folder, 'al2023/lib');
    return chromium.launch({ ...options, env: { ...process.env, LD_LIBRARY_PATH } });
  }
}

/** A fake microphone that beeps. Every page may use it without asking. */
const microphone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

/** Unpacks Chromium once for a checkout, and returns its folder. If several processes unpack at the same time, the first one wins. */
async function unpacked(): Promise<string> {
  const { version } = createRequire(import.meta.url)(packageFile) as { version: string };
  const tools = dirname(foldersOf(process.env).tools);
  const folder = join(tools, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  mkdirSync(tools, { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  const archives = ['chromium.br', 'al2023.tar.br'].map((name) => join(dirname(packageFile), 'bin', name));
  const program = `
    import { inflate } from '@sparticuz/chromium';
    await Promise.all(${JSON.stringify(archives)}.map(inflate));`;
  try {
    // The package unpacks into the temporary folder of the process.
    const env = { ...process.env, TMPDIR: draft };
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], {
      env,
      cwd: import.meta.dirname,
    });
    renameSync(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}
