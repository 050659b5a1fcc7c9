/** What other modules need of the outbox. */
export {
  type ChannelName,
  expireNotices,
  measureNotices,
  type NoticeMeasureRow,
  setChannels,
} from './notices.sql.ts';
