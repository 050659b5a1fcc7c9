import type { CodeText } from './problem-texts.ts';

/** Faults of images and of the files of batches. */
export const fileFaultTexts = {
  addtl_attr_req: {
    cause:
      'The destination needs attributes that are not stored, or the identity of the recipient is not verified.',
    remedy: 'Store the missing attributes or complete the verification, then send the row again.',
    example: {
      column: 'attr_set_token',
      detail: 'required attributes of the destination are missing',
    },
  },
  animated_image: {
    cause: 'An animation shows several pictures, and it is not clear which one counts.',
    remedy: 'Send a single one.',
    example: { pointer: '/0/content', detail: 'face: the image is animated' },
  },
  cell_count: {
    cause: 'A row of a CSV file has more or fewer cells than the header.',
    remedy: 'Look for an unquoted comma or a missing one.',
    example: { column: '', detail: 'the row must have 7 cells as the header has, not 8' },
  },
  damaged_image: {
    cause: 'The image is incomplete or cannot be decoded.',
    remedy: 'Take or save the picture again.',
    example: { pointer: '/1/content', detail: 'the PNG image is incomplete or damaged' },
  },
  empty_file: {
    cause: 'The file is empty, or has a header and nothing below it.',
    remedy: 'Check the export; a CSV file needs rows below its header.',
    example: { detail: 'the file has no rows' },
  },
  image_too_large: {
    cause: 'The image takes too much memory to decode.',
    remedy: 'Save it without interlacing, or scale it down.',
    example: { pointer: '/0/content', detail: 'face: it takes too much memory to decode' },
  },
  invalid_base64: {
    cause: 'The text is not padded Base64 (RFC 4648 section 4).',
    remedy: 'Encode it without white space and with its padding.',
    example: { pointer: '/0/content', detail: 'face must be padded Base64' },
  },
  invalid_encoding: {
    cause: 'A value of a file is not UTF-8.',
    remedy: 'Save the file in UTF-8.',
    example: { column: 'internal_user_id', detail: 'the value is not UTF-8' },
  },
  malformed_csv: {
    cause: 'The file is not valid CSV (RFC 4180), for example because a quote is not closed.',
    remedy: 'Correct the line that the detail names.',
    example: { detail: 'a quote is not closed, at line 4' },
  },
  missing_column: {
    cause: 'The header of the file lacks a required column.',
    remedy: 'Add it. Column names are those of a payout request.',
    example: { detail: 'the header has no column user_token or internal_user_id' },
  },
  repeated_column: {
    cause: 'Two cells of the header have the same name.',
    remedy: 'Remove or rename one of them.',
    example: { detail: 'the header has the column source_amount twice' },
  },
  repeated_in_file: {
    cause: 'An earlier row of the file has the same `client_transfer_id`.',
    remedy: 'Remove the row, or give the payment its own identifier.',
    example: {
      column: 'client_transfer_id',
      detail: 'client_transfer_id must be unique in the file; row 3 has it too',
    },
  },
  row_too_long: {
    cause: 'A row of the file is longer than allowed.',
    remedy: 'Look for a missing line end or an unclosed quote.',
    example: { detail: 'the row at line 4 must have at most 65536 bytes' },
  },
  too_large: {
    cause: 'The image has more than 10 MiB of Base64, or too many pixels.',
    remedy: 'Scale it down.',
    example: { pointer: '/2/content', detail: 'an image must have at most 10 MiB of Base64' },
  },
  trailing_data: {
    cause: 'Other data follows the end of the image in the same file.',
    remedy: 'Save the picture again with another program.',
    example: { pointer: '/0/content', detail: 'data follows the end of the PNG image' },
  },
  unknown_user: {
    cause: 'The account has no such user.',
    remedy: 'Create the user first, or correct the identifier.',
    example: { column: 'internal_user_id', detail: 'internal_user_id not found' },
  },
  unsupported_image: {
    cause: 'The image is not a PNG or JPEG of a supported kind.',
    remedy: 'Save it as PNG or JPEG.',
    example: { pointer: '/0/content', detail: 'face must be a PNG or JPEG' },
  },
  user_mismatch: {
    cause: '`user_token` and `internal_user_id` of a row name different users.',
    remedy: 'Send one of them.',
    example: {
      column: 'internal_user_id',
      detail: 'internal_user_id and user_token must name the same user',
    },
  },
} satisfies Readonly<Record<string, CodeText>>;
