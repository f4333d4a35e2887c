import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MeshCertificate, type MeshTlsFiles, meshTls } from '@parley/kernel/tls/mesh';
import type { ExecutionContext } from 'ava';

/** Writes a process's certificate to separate files, which `tls` rereads continuously. `replace` changes the files one after the other. */
export async function testMeshTls(
  t: Pick<ExecutionContext, 'teardown'>,
  certificate: MeshCertificate,
  log?: Parameters<typeof meshTls>[1],
) {
  const folder = mkdtempSync(join(tmpdir(), 'parley-mesh-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  const files: MeshTlsFiles = {
    cert: join(folder, 'tls.crt'),
    key: join(folder, 'tls.key'),
    ca: join(folder, 'ca.crt'),
  };
  function replace(changed: Partial<MeshCertificate>): void {
    for (const [kind, pem] of Object.entries(changed) as [keyof MeshCertificate, string][]) {
      writeFileSync(`${files[kind]}.new`, pem);
      renameSync(`${files[kind]}.new`, files[kind]);
    }
  }
  replace(certificate);
  const tls = meshTls(files, log, 10);
  await tls.start();
  t.teardown(() => tls.stop());
  return { tls, files, replace };
}
