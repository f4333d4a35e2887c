import { isIP } from 'node:net';
import { type ChannelOptions, experimental } from '@grpc/grpc-js';

const scheme = 'refreshed';
const intervalOption = 'parley.refresh_interval_ms';

/**
 * Returns the target of a channel whose name is looked up again periodically, with the channel options that the look-ups require. By
 * default gRPC for Node looks a name up again only when a connection breaks, so added processes would get no calls. gRPC's limit of a
 * connection's age is no alternative: streams that begin while the limit takes effect are refused.
 * @param target of `rpcTarget`; a target without a name is returned unchanged
 */
export function refreshed(target: string, intervalMs: number): { target: string; options: ChannelOptions } {
  const { host } = experimental.splitHostPort(target) ?? {};
  if (host === undefined || isIP(host) !== 0 || /^ipv[46]:/u.test(target)) return { target, options: {} };
  register();
  return {
    target: `${scheme}:${target}`,
    options: {
      [intervalOption]: intervalMs,
      'grpc.dns_min_time_between_resolutions_ms': intervalMs / 2,
      // Without this option each look-up also requests a TXT record, which could change how calls are made.
      'grpc.service_config_disable_resolution': 1,
    },
  };
}

let isRegistered = false;

function register(): void {
  if (isRegistered) return;
  isRegistered = true;
  experimental.registerResolver(scheme, RefreshingResolver);
}

class RefreshingResolver implements experimental.Resolver {
  readonly #names: experimental.Resolver;
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor({ path }: experimental.GrpcUri, listener: experimental.ResolverListener, options: ChannelOptions) {
    this.#names = experimental.createResolver({ scheme: 'dns', path }, listener, options);
    this.#intervalMs = Number(options[intervalOption]);
  }

  static getDefaultAuthority({ path }: experimental.GrpcUri): string {
    return path;
  }

  updateResolution(): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#names.updateResolution(), this.#intervalMs).unref();
    this.#names.updateResolution();
  }

  /** gRPC also calls `destroy` when a channel becomes idle, and `updateResolution` when the channel is used again. */
  destroy(): void {
    clearInterval(this.#timer);
    this.#names.destroy();
  }
}
