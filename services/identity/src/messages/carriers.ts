import type { DeliverySettings, OutgoingMessage } from './carrier.ts';
import { mailCarrier } from './mail-carrier.ts';
import { smsCarrier } from './sms-carrier.ts';

export type Carriers = ReturnType<typeof createCarriers>;

export function createCarriers(settings: DeliverySettings) {
  const mail = mailCarrier(settings);
  const sms = smsCarrier(settings);
  return {
    async send({ to, ...message }: OutgoingMessage): Promise<void> {
      if ('email' in to) await mail.send({ ...message, to: to.email });
      else await sms.send({ ...message, to: to.phone });
    },
    close(): void {
      mail.close();
      sms.close();
    },
  };
}
