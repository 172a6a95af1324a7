/* The part of the JPEG codec that has to be C: libjpeg reports a fatal error by a function that must not return, so
 * every call into it stands behind a setjmp. Nothing here allocates output or converts pixels; Rust does.
 *
 * Each function returns a status; after SHIM_FAILED, shim_message says why and only shim_close may follow. */

#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <jerror.h>

enum { SHIM_OK = 0, SHIM_FAILED = 1 };

/* The colours of the rows that are read, as shim_start is asked for them. */
enum { SHIM_GREY = 1, SHIM_RGB = 3, SHIM_CMYK = 4 };

struct shim_errors {
    struct jpeg_error_mgr base; /* First: libjpeg's pointer to it is ours. */
    jmp_buf escape;
    char message[JMSG_LENGTH_MAX];
};

struct shim_decoder {
    struct jpeg_decompress_struct jpeg;
    struct shim_errors errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    int max_scans;
    int has_run_out;
};

/* What a decoder knows once it has read the header, and, of the rows, once it has started. */
struct shim_info {
    uint32_t width;
    uint32_t height;
    uint32_t components;
    uint32_t is_cmyk;
    uint32_t has_adobe_marker;
    uint32_t has_run_out;
    uint32_t row_width;
    uint32_t num_rows;
};

static void escape(j_common_ptr jpeg) {
    struct shim_errors *errors = (struct shim_errors *)jpeg->err;
    jpeg->err->format_message(jpeg, errors->message);
    longjmp(errors->escape, 1);
}

static void be_silent(j_common_ptr jpeg) { (void)jpeg; }

static void set_up_errors(struct shim_errors *errors) {
    jpeg_std_error(&errors->base);
    errors->base.error_exit = escape;
    errors->base.output_message = be_silent;
}

static void do_nothing(j_decompress_ptr jpeg) { (void)jpeg; }

/* Called when the data are used up. To suspend here would tell as well how far they went, but libjpeg-turbo's cropping
 * does not allow it; so the image is ended and a note made. */
static boolean fill_input(j_decompress_ptr jpeg) {
    static const JOCTET end_of_image[] = {0xff, JPEG_EOI};
    ((struct shim_decoder *)jpeg->client_data)->has_run_out = 1;
    jpeg->src->next_input_byte = end_of_image;
    jpeg->src->bytes_in_buffer = sizeof(end_of_image);
    return TRUE;
}

static void skip_input(j_decompress_ptr jpeg, long num_bytes) {
    if (num_bytes <= 0)
        return;
    if ((size_t)num_bytes > jpeg->src->bytes_in_buffer) {
        jpeg->src->bytes_in_buffer = 0;
        fill_input(jpeg);
        return;
    }
    jpeg->src->next_input_byte += num_bytes;
    jpeg->src->bytes_in_buffer -= (size_t)num_bytes;
}

/* Each scan goes over the whole image, however few bytes it has. */
static void limit_scans(j_common_ptr common) {
    j_decompress_ptr jpeg = (j_decompress_ptr)common;
    struct shim_decoder *decoder = (struct shim_decoder *)jpeg->client_data;
    if (jpeg->input_scan_number > decoder->max_scans) {
        snprintf(decoder->errors.message, sizeof(decoder->errors.message), "more than %d scans", decoder->max_scans);
        longjmp(decoder->errors.escape, 1);
    }
}

/* Reads the header of `data`, which must stay until the decoder is closed. NULL only if there is no memory. */
struct shim_decoder *shim_open(const uint8_t *data, size_t num_bytes, int max_scans, int *status,
                               struct shim_info *info) {
    struct shim_decoder *decoder = calloc(1, sizeof(*decoder));
    if (decoder == NULL)
        return NULL;
    set_up_errors(&decoder->errors);
    decoder->jpeg.err = &decoder->errors.base;
    decoder->max_scans = max_scans;
    *status = SHIM_FAILED;
    if (setjmp(decoder->errors.escape))
        return decoder;
    jpeg_create_decompress(&decoder->jpeg);
    decoder->source = (struct jpeg_source_mgr){
        .next_input_byte = data,
        .bytes_in_buffer = num_bytes,
        .init_source = do_nothing,
        .fill_input_buffer = fill_input,
        .skip_input_data = skip_input,
        .resync_to_restart = jpeg_resync_to_restart,
        .term_source = do_nothing,
    };
    decoder->jpeg.src = &decoder->source;
    decoder->jpeg.client_data = decoder;
    decoder->progress.progress_monitor = limit_scans;
    decoder->jpeg.progress = &decoder->progress;
    jpeg_read_header(&decoder->jpeg, TRUE);
    J_COLOR_SPACE colours = decoder->jpeg.jpeg_color_space;
    info->width = decoder->jpeg.image_width;
    info->height = decoder->jpeg.image_height;
    info->components = (uint32_t)decoder->jpeg.num_components;
    info->is_cmyk = colours == JCS_CMYK || colours == JCS_YCCK;
    info->has_adobe_marker = decoder->jpeg.saw_Adobe_marker != 0;
    *status = SHIM_OK;
    return decoder;
}

/* Gets ready to give rows of `colours`, the image scaled down by `ratio`; or of as many components as stored, unchanged,
 * if `is_raw`. */
int shim_start(struct shim_decoder *decoder, int colours, unsigned ratio, int is_fancy, int is_accurate, int is_raw,
               struct shim_info *info) {
    struct jpeg_decompress_struct *jpeg = &decoder->jpeg;
    if (setjmp(decoder->errors.escape))
        return SHIM_FAILED;
    jpeg->out_color_space = colours == SHIM_GREY ? JCS_GRAYSCALE : colours == SHIM_CMYK ? JCS_CMYK : JCS_RGB;
    if (is_raw)
        jpeg->jpeg_color_space = jpeg->out_color_space = JCS_UNKNOWN;
    jpeg->scale_num = 1;
    jpeg->scale_denom = ratio;
    jpeg->do_fancy_upsampling = is_fancy ? TRUE : FALSE;
    jpeg->dct_method = is_accurate ? JDCT_ISLOW : JDCT_IFAST;
    jpeg_start_decompress(jpeg);
    info->has_run_out = decoder->has_run_out != 0;
    info->row_width = jpeg->output_width;
    info->num_rows = jpeg->output_height;
    if (jpeg->output_components == colours)
        return SHIM_OK;
    snprintf(decoder->errors.message, sizeof(decoder->errors.message), "%d components", jpeg->output_components);
    return SHIM_FAILED;
}

/* Narrows the rows to those of a window inside the image. They may begin further left, at a block of the image: as
 * many columns too many as `row_width` says then. */
int shim_crop(struct shim_decoder *decoder, uint32_t x, uint32_t y, uint32_t width, struct shim_info *info) {
    JDIMENSION left = x, columns = width;
    if (setjmp(decoder->errors.escape))
        return SHIM_FAILED;
    jpeg_crop_scanline(&decoder->jpeg, &left, &columns);
    info->row_width = decoder->jpeg.output_width;
    jpeg_skip_scanlines(&decoder->jpeg, y);
    return SHIM_OK;
}

/* Reads one row after the other. Unless it `is_recovering` it stops at the first that was missing, even in part;
 * `num_read` says how many there were. */
int shim_read_rows(struct shim_decoder *decoder, uint8_t *rows, size_t row_bytes, uint32_t num_rows, int is_recovering,
                   uint32_t *num_read) {
    *num_read = 0;
    if (setjmp(decoder->errors.escape))
        return SHIM_FAILED;
    while (*num_read < num_rows) {
        JSAMPROW row = rows + *num_read * row_bytes;
        if (decoder->has_run_out && !is_recovering)
            break;
        if (jpeg_read_scanlines(&decoder->jpeg, &row, 1) == 0 || (decoder->has_run_out && !is_recovering))
            break;
        ++*num_read;
    }
    return SHIM_OK;
}

/* Reads what follows the last row, which may be damaged too. */
int shim_finish(struct shim_decoder *decoder, struct shim_info *info) {
    if (setjmp(decoder->errors.escape))
        return SHIM_FAILED;
    jpeg_finish_decompress(&decoder->jpeg);
    info->has_run_out = decoder->has_run_out != 0;
    return SHIM_OK;
}

const char *shim_message(const struct shim_decoder *decoder) { return decoder->errors.message; }

void shim_close(struct shim_decoder *decoder) {
    jpeg_destroy_decompress(&decoder->jpeg);
    free(decoder);
}

struct shim_encoding {
    uint32_t width;
    uint32_t height;
    int components;
    int quality;
    int is_progressive;
    int is_optimized;
    int is_chroma_downsampled;
    uint8_t density_unit;
    uint16_t x_density;
    uint16_t y_density;
    const uint8_t *app1;
    uint32_t num_app1_bytes;
};

struct shim_encoder {
    struct jpeg_compress_struct jpeg;
    struct shim_errors errors;
    struct jpeg_destination_mgr destination;
    uint8_t *output;
    size_t capacity;
};

static void grow_output(j_compress_ptr jpeg) {
    struct shim_encoder *encoder = (struct shim_encoder *)jpeg->client_data;
    size_t used = encoder->capacity, capacity = used ? 2 * used : 1 << 16;
    uint8_t *output = realloc(encoder->output, capacity);
    if (output == NULL)
        ERREXIT1(jpeg, JERR_OUT_OF_MEMORY, 0);
    encoder->output = output;
    encoder->capacity = capacity;
    encoder->destination.next_output_byte = output + used;
    encoder->destination.free_in_buffer = capacity - used;
}

static boolean empty_output(j_compress_ptr jpeg) {
    grow_output(jpeg);
    return TRUE;
}

static void finish_output(j_compress_ptr jpeg) { (void)jpeg; }

/* Encodes grey or RGB pixels. NULL only if there is no memory; shim_close_encoder frees the output too. */
struct shim_encoder *shim_encode(const uint8_t *pixels, const struct shim_encoding *encoding, int *status,
                                 const uint8_t **output, size_t *num_output_bytes) {
    struct shim_encoder *encoder = calloc(1, sizeof(*encoder));
    if (encoder == NULL)
        return NULL;
    struct jpeg_compress_struct *jpeg = &encoder->jpeg;
    size_t row_bytes = (size_t)encoding->width * (size_t)encoding->components;
    set_up_errors(&encoder->errors);
    jpeg->err = &encoder->errors.base;
    *status = SHIM_FAILED;
    if (setjmp(encoder->errors.escape))
        return encoder;
    jpeg_create_compress(jpeg);
    encoder->destination.init_destination = grow_output;
    encoder->destination.empty_output_buffer = empty_output;
    encoder->destination.term_destination = finish_output;
    jpeg->dest = &encoder->destination;
    jpeg->client_data = encoder;
    jpeg->image_width = encoding->width;
    jpeg->image_height = encoding->height;
    jpeg->input_components = encoding->components;
    jpeg->in_color_space = encoding->components == SHIM_GREY ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(jpeg);
    jpeg->optimize_coding = encoding->is_optimized ? TRUE : FALSE;
    jpeg->density_unit = encoding->density_unit;
    jpeg->X_density = encoding->x_density;
    jpeg->Y_density = encoding->y_density;
    jpeg_set_quality(jpeg, encoding->quality, TRUE);
    if (encoding->is_progressive)
        jpeg_simple_progression(jpeg);
    for (int i = 0; i < jpeg->num_components && !encoding->is_chroma_downsampled; ++i)
        jpeg->comp_info[i].h_samp_factor = jpeg->comp_info[i].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
    if (encoding->num_app1_bytes > 0)
        jpeg_write_marker(jpeg, JPEG_APP0 + 1, encoding->app1, encoding->num_app1_bytes);
    while (jpeg->next_scanline < jpeg->image_height) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + jpeg->next_scanline * row_bytes);
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
    *output = encoder->output;
    *num_output_bytes = encoder->capacity - encoder->destination.free_in_buffer;
    *status = SHIM_OK;
    return encoder;
}

const char *shim_encoder_message(const struct shim_encoder *encoder) { return encoder->errors.message; }

void shim_close_encoder(struct shim_encoder *encoder) {
    jpeg_destroy_compress(&encoder->jpeg);
    free(encoder->output);
    free(encoder);
}
