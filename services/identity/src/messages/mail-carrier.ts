import type { SendMailOptions, Transporter } from 'nodemailer';
import { type Carrier, type DeliverySettings, MessageRefused } from './carrier.ts';
import { writeToOutbox } from './outbox-folder.ts';
import { smtpTransport } from './smtp-transport.ts';

/** Sends mail by SMTP if `SMTP_URL` is set; otherwise writes it to the outbox folder as `<id>.eml`. */
export function mailCarrier({ smtpUrl, mailFrom, dataFolder }: DeliverySettings): Carrier<string> {
  let opened: Promise<Transporter> | undefined;

  /** The mail library is imported for the first mail, because most processes send none. */
  async function open(): Promise<Transporter> {
    if (smtpUrl !== undefined) return smtpTransport(smtpUrl);
    const { createTransport } = await import('nodemailer');
    return createTransport({ streamTransport: true, buffer: true });
  }

  return {
    async send({ id, to, subject, text, html }) {
      opened ??= open();
      const transport = await opened;
      const domain = mailFrom.match(/@([^\s>]+)/)?.[1] ?? 'localhost';
      const mail: SendMailOptions = {
        from: mailFrom,
        to: { name: '', address: to },
        subject,
        text,
        html,
        messageId: `<${id}@${domain}>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
        disableFileAccess: true,
        disableUrlAccess: true,
      };
      const sent = await transport.sendMail(mail).catch((error: unknown) => {
        throw withoutContent(error);
      });
      if (smtpUrl === undefined) await writeToOutbox(dataFolder, `${id}.eml`, sent.message);
    },
    close() {
      void opened?.then((transport) => transport.close());
    },
  };
}

/** Returns the error for the log, without the server's text, which may contain addresses. */
function withoutContent(error: unknown): Error {
  const { code, responseCode, command } = error as { code?: string; responseCode?: number; command?: string };
  const what =
    `the mail server refused ${command ?? 'the connection'}: ${code ?? 'no code'} ${responseCode ?? ''}`.trim();
  // A login that the mail server refuses (535) is retried, because the operator can correct it.
  const isFinal = responseCode !== undefined && responseCode >= 500 && code !== 'EAUTH';
  return isFinal ? new MessageRefused(what) : new Error(what);
}
