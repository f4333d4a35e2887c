import {
  type ChannelCredentials,
  credentials as channel,
  experimental,
  type ServerCredentials,
  ServerCredentials as server,
} from '@grpc/grpc-js';
import type { MeshTls } from '@parley/kernel/tls/mesh';

/**
 * Returns the credentials of a client. The client presents its own certificate, and requires that the server's certificate is from the
 * mesh's authorities and has the called name.
 */
export function channelCredentials(tls: MeshTls | undefined): ChannelCredentials {
  if (!tls) return channel.createInsecure();
  const provider = providerOf(tls);
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

/** Returns the credentials of a server. The server refuses clients without a certificate of the mesh's authorities. */
export function serverCredentials(tls: MeshTls | undefined): ServerCredentials {
  if (!tls) return server.createInsecure();
  const provider = providerOf(tls);
  return experimental.createCertificateProviderServerCredentials(provider, provider, true);
}

const providers = new WeakMap<MeshTls, experimental.CertificateProvider>();

/** Returns the same provider for all clients of a process, because gRPC shares connections only among clients with the same provider. */
function providerOf(tls: MeshTls): experimental.CertificateProvider {
  const known = providers.get(tls) ?? certificateProvider(tls);
  providers.set(tls, known);
  return known;
}

function certificateProvider(tls: MeshTls): experimental.CertificateProvider {
  const authorities = listening<experimental.CaCertificateUpdate>(tls, ({ ca }) => ({
    caCertificate: Buffer.from(ca),
  }));
  const identities = listening<experimental.IdentityCertificateUpdate>(tls, ({ cert, key }) => ({
    certificate: Buffer.from(cert),
    privateKey: Buffer.from(key),
  }));
  return {
    addCaCertificateListener: authorities.add,
    removeCaCertificateListener: authorities.remove,
    addIdentityCertificateListener: identities.add,
    removeIdentityCertificateListener: identities.remove,
  };
}

function listening<Update>(tls: MeshTls, updateOf: (of: MeshTls['current']) => Update) {
  type Listener = (update: Update) => void;
  const ends = new Map<Listener, () => void>();
  return {
    add(listener: Listener): void {
      ends.set(
        listener,
        tls.onChange((changed) => listener(updateOf(changed))),
      );
      // The first call of the listener is deferred, because gRPC requires that the listener is added before.
      process.nextTick(() => {
        if (ends.has(listener)) listener(updateOf(tls.current));
      });
    },
    remove(listener: Listener): void {
      ends.get(listener)?.();
      ends.delete(listener);
    },
  };
}
