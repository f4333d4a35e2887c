import type { Logger } from '@parley/kernel/telemetry/log';
import type { AvatarModels } from './avatar-models.ts';
import type { TryPage } from './http/try-page.ts';
import type { ProviderWork } from './provider-work.ts';
import type { AvatarVendor } from './providers/avatar-vendor.ts';
import type { Listener, Speaker } from './speech.ts';

/** What the use cases of voice need. */
export interface Ports {
  speak: Speaker;
  /** Undefined where no provider transcribes. */
  listen: Listener | undefined;
  /** Undefined where no vendor of hosted avatars is configured. */
  openVendorSession: AvatarVendor | undefined;
  models: AvatarModels;
  page: TryPage;
  /** Runs a call of a provider within the limits of its tenant, and measures it. */
  provide: ProviderWork;
  log: Logger;
}
