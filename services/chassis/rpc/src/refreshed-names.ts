import { isIP } from 'node:net';
import { type ChannelOptions, experimental } from '@grpc/grpc-js';

const scheme = 'refreshed';
const intervalOption = 'parley.refresh_interval_ms';

/**
 * The target of a channel that looks its name up again from time to time, with the options for that. gRPC for Node does so only when a
 * connection breaks, so that processes which are added get no calls. Its limit of a connection's age is no way out: streams that begin
 * while it takes effect are refused.
 * @param target of `rpcTarget`; one without a name stays as it is
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
      // Otherwise each look-up also requests a TXT record, which could change how calls are made.
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

  /** gRPC also calls it when a channel becomes idle, and `updateResolution` when it is used again. */
  destroy(): void {
    clearInterval(this.#timer);
    this.#names.destroy();
  }
}
