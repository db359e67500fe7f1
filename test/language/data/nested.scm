(define nested-value 'from-a-file-included-by-an-included-file)
